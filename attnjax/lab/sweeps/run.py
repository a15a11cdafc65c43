"""Run an ablation from a program: `attnjax.run(ablation, name="cosine").rows`."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from pprint import pformat

from attnjax.config.console import PlainConsole
from attnjax.config.override import split
from attnjax.config.read_json import folder_name
from attnjax.config.serialize import to_json
from attnjax.config.walk import field_names
from attnjax.errors import UserError
from attnjax.experiment import Ablation, Setting, load
from attnjax.files import write_atomically
from attnjax.lab.results.folder import summarize
from attnjax.lab.results.lines import read_records
from attnjax.lab.results.summary import Summary
from attnjax.lab.runs.catalog import find, records_folder, with_shipped
from attnjax.lab.sweeps.request import Request
from attnjax.lab.sweeps.sweep import sweep


def run(
    experiment: str | Path | Ablation,
    *overrides: str,
    name: str = "ablation",
    setting: str | None = None,
    variants: Sequence[str] = (),
    seeds: int | None = None,
    records: str | Path | bool = False,
    runs: str | Path = "runs",
) -> Summary:
    """Run an experiment, and resume interrupted runs, as `attnjax run` does.

    `experiment` is the name of a shipped one, a file, or an ablation, which is first written as the
    file `name` into the folder of its runs. Overrides are those of the command line:
    "--training.steps 100", "search:greedy". `records` is a folder of records, those of which that
    fit stand in for runs; True: ./records, or else those that come with attnjax.

    Raises:
        UserError: the experiment cannot be run, a run failed, or an ablation has parts that are
            defined in no file.
    """
    if isinstance(experiment, Ablation):
        if not folder_name(name):
            raise UserError(f"name is that of a file, without .py and without /; got {name!r}")
        experiment = _written(experiment, Path(runs) / name / f"{name}.py")
    loaded = load(find(str(experiment))).at(setting)
    words = [word for given in overrides for word in _words(given)]
    others, changes = split(words)
    if others:
        raise UserError(f"an override is --path value, or path:part; got {others[0]!r}")
    folder = Path(runs) / loaded.folder
    where = records_folder("" if records is True else str(records)) if records else None
    request = Request(
        loaded=loaded,
        variants=tuple(variants),
        seeds=seeds,
        folder=folder,
        overrides=tuple(changes),
        records=() if where is None else tuple(read_records(*with_shipped(where))),
    )
    if failed := sweep(
        request, PlainConsole(stderr=True, force_terminal=False, force_jupyter=False)
    ):
        raise UserError("; ".join(f"{run} failed: {why}" for run, why in failed.items()))
    again = ["attnjax", "run", str(experiment), *(["--setting", setting] if setting else [])]
    again += [] if where is None else ["--records", str(where)]
    return summarize(folder, loaded, [*again, *words], records=request.records)


def _words(given: str) -> list[str]:
    """Split an override as a shell does; a quote without a second one is a letter of the value."""
    try:
        return shlex.split(given)
    except ValueError:
        return given.split(maxsplit=1)


def _written(ablation: Ablation, path: Path) -> Path:
    """Write an ablation into an experiment file, with the values of all fields."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(
        path,
        f'''"""{path.stem}"""

from attnjax.config.serialize import from_json
from attnjax.experiment import Ablation, Setting

ablation = {_text(ablation)}
''',
    )
    return path


def _text(value: object) -> str:
    """Return a Python expression for a value."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_text(item)}' for name, item in value.items())}}}"
    if isinstance(value, Ablation | Setting):
        names = field_names(type(value))
        fields = ",\n".join(f"{name}={_text(getattr(value, name))}" for name in names)
        return f"{type(value).__name__}(\n{fields},\n)"
    return f"from_json({pformat(to_json(value), width=100, sort_dicts=False)})"
