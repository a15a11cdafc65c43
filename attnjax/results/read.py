"""Reading records, of the folders of runs and of files; writing the files.

    records = read_runs("runs/luong2015") + read_records("records")

A file is never written by hand, and never changed: it has a digest of its own content. Records of
equal keys add up over days and machines.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from attnjax.config.record import read_record
from attnjax.config.serialize import own_names
from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.design import design, short_digest, tuning_digest
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import points
from attnjax.files import file_digest
from attnjax.nn.paths import flat
from attnjax.results.record import Answers, Minutes, Record, RunSource, StageName
from attnjax.results.tuning import STAGES
from attnjax.runs.json_files import read_sealed, write_sealed
from attnjax.runs.manifest import CONFIG, EXPERIMENT, Manifest, read, text_damage
from attnjax.runs.provenance import definitions_digest
from attnjax.runs.result import RESULT
from attnjax.runs.run_folder import MACHINE, result


def read_runs(folder: str | Path) -> list[Record]:
    """Return the records of the finished runs in an experiment's folder, those that tune included.

    Raises:
        UserError: a file is damaged, or a run lies in the folder of another one.
    """
    paths: list[tuple[Path, StageName]] = [
        (path.parent, stage)
        for stage, pattern in STAGES.items()
        for path in sorted(Path(folder).glob(f"*/{pattern}/{RESULT}"))
    ]
    return [record for run, stage in paths if (record := read_run(run, stage)) is not None]


def read_run(run: Path, stage: StageName = "chosen") -> Record | None:
    """Return the record of the run in a folder; None: it is not finished."""
    outcome = result(run, {})
    if outcome is None:
        return None
    variant = run.parent if stage == "chosen" else run.parents[2]
    if (outcome.variant, f"seed-{outcome.seed}") != (variant.name, run.name):
        raise UserError(
            f"{run / RESULT} is the result of {outcome.variant}/seed-{outcome.seed}: a run's "
            "folder has the name of its seed, in that of its variant"
        )
    manifest = read(run)
    settings = settings_digest(manifest.settings, manifest.tuned)
    values = flat(manifest.settings)
    data = dict(outcome.data) or ({} if outcome.test_set is None else {"test": outcome.test_set})
    # the settings of a generated task say its data, the seed included
    generated = "seed" in manifest.settings["task"]
    return Record(
        experiment=manifest.experiment,
        setting=manifest.setting,
        variant=manifest.variant,
        seed=manifest.seed,
        key=short_digest([settings, {} if generated else data, manifest.own_code]),
        settings=settings,
        date=outcome.date,
        tuned={path: values.get(path) for path in manifest.tuned},
        tied=stage == "tied",
        parts=_parts(run, manifest),
        code=outcome.code,
        versions=outcome.versions,
        device=outcome.device,
        machine=outcome.machine,
        data=data,
        vocabulary=manifest.vocabulary,
        updates=outcome.step,
        epochs=outcome.epochs,
        stopped=outcome.stopped,
        parameters=outcome.parameters,
        minutes=Minutes(
            train=_minutes(outcome.seconds),
            decode=None if (spent := outcome.decoding_seconds) is None else _minutes(spent),
        ),
        metrics=outcome.metrics,
        source=RunSource(folder=run, stage=stage, manifest=manifest, result=outcome),
    )


def _parts(run: Path, manifest: Manifest) -> str | None:
    """Return the digest of a run's own parts; None: it has none, or no text of them."""
    names = own_names(manifest.settings)
    if not names or text_damage(run, manifest):
        return None
    text = (run / EXPERIMENT).read_text(encoding="utf-8")
    return definitions_digest(text, names, manifest.own_code)


def settings_digest(settings: Mapping[str, Any], tuned: tuple[str, ...]) -> str:
    """Return the digest of a run's settings, without those of the machine and tuned values."""
    left_out = {*MACHINE, *tuned}
    counted = {path: value for path, value in flat(settings).items() if path not in left_out}
    return short_digest(counted)


def read_records(folder: str | Path, *others: Path) -> list[Record]:
    """Return all records in the files below folders, in the order in which they were recorded.

    The copy of a record counts once.

    Raises:
        UserError: there is none in the first folder, one is damaged, or two are of the same
            settings, data, seed and machine and have other numbers.
    """
    paths = _files(Path(folder))
    if not paths:
        raise UserError(f"{folder} holds no records; `attnjax record RUNS` writes them")
    paths += [path for other in others for path in _files(other)]
    kept: dict[Path, tuple[Path, Record]] = {}
    of_run: dict[object, tuple[Path, Record]] = {}
    for path in paths:
        record = read_file(path)
        first = kept.setdefault(record.path(), (path, record))
        for known, other in (first, of_run.setdefault(_run_of(record), (path, record))):
            if not alike(record, other):
                raise UserError(
                    f"{known} and {path} are the records of two runs with the same settings, seed "
                    "and machine, of which one counts: leave one of them in the folder"
                )
    return sorted((record for _, record in kept.values()), key=lambda record: record.recorded)


def _files(folder: Path) -> list[Path]:
    """List the files of records below a folder, without hidden ones, which other programs leave."""
    paths = sorted(folder.glob("*/*/*.json"))
    return [path for path in paths if not re.search(r"(^|/)\.", str(path.relative_to(folder)))]


def _run_of(record: Record) -> object:
    """Return what no two runs with other numbers have in common, whatever key a record names."""
    settings = record.settings, record.parts, record.tied_values, tuple(sorted(record.data.items()))
    place = record.experiment, record.setting, record.variant
    return (*place, record.seed, record.kind, *settings)


def read_file(path: Path) -> Record:
    """Read the file of a record; one that was changed is refused.

    Raises:
        UserError: the file was changed, or is damaged.
    """
    try:
        content = read_sealed(path)
    except FileNotFoundError as error:
        raise UserError(f"{path} is a link to nothing") from error
    if "source" in content:
        raise UserError(f"{path} is damaged: a record does not say where it lies")
    return replace(read_record(content, Record, path), source=path)


def alike(ours: Record, theirs: Record) -> bool:
    """Return whether two records have the same numbers and answers, of the same data and updates.

    A run's folder may get more files later, so digests of its files are not compared.
    """
    first, second = (
        (made.metrics, made.updates, made.data, made.vocabulary, made.parameters)
        for made in (ours, theirs)
    )
    answers = [made.answers for made in (ours, theirs) if made.answers is not None]
    return first == second and len({of.content() for of in answers}) < 2


def recordings(records: Sequence[Record], loaded: ExperimentFile, now: str) -> list[Record]:
    """Return the records of runs with all that their files hold; those that tune have none.

    The minutes of tuning are those of all runs that tuned the variant. `now` is the time in UTC, as
    ISO 8601.
    """
    designed = design(loaded.ablation, loaded.own)
    made = []
    for record in records:
        run = record.run
        if run is None or run.stage == "tuning":
            continue
        tuned = run.stage == "chosen" and bool(record.tuned)
        spent = [
            other.seconds
            for other in records
            if tuned and other.stage == "tuning" and other.variant == record.variant
        ]
        sentences = sentence_stats.read(run.folder, loaded.own)
        made.append(
            replace(
                record,
                design=designed,
                grid=_grid(record, records, loaded.ablation),
                recorded=now,
                minutes=replace(record.minutes, tune=_minutes(sum(spent))),
                answers=None if sentences is None else Answers.of(sentences, loaded.own),
                files={name: file_digest(run.folder / name) for name in (RESULT, CONFIG)},
            )
        )
    return made


def _grid(record: Record, records: Sequence[Record], ablation: Ablation) -> str | None:
    """Return the digest of the grid that a run was tuned over; None: its runs are not there."""
    paths = tuple(ablation.tune)
    tried = {
        (other.values(paths), other.seed)
        for other in records
        if other.stage == "tuning" and other.variant == record.variant
    }
    wanted = {
        (tuple(point.values()), seed)
        for point in points(ablation.tune)
        for seed in ablation.tuning_seeds
    }
    tuned = bool(paths) and {*record.tuned} == {*paths} and wanted <= tried
    return tuning_digest(ablation) if tuned else None


def write(made: Record, folder: Path) -> Path | None:
    """Write the file of a record below a folder; None: the same run has one there.

    Raises:
        UserError: there is a record of the same key, seed and machine with other numbers, or the
            folder cannot be made.
    """
    path = folder / made.path()
    if path.exists():
        if not alike(read_file(path), made):
            raise UserError(
                f"{path} is the record of another run with the same settings, seed and machine; "
                "records are never replaced"
            )
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path.parent} cannot be made: {error.strerror}") from error
    content = asdict(replace(made, source=None))
    del content["source"]
    write_sealed(path, content)
    return path


def _minutes(seconds: float) -> float:
    return round(seconds / 60, 2)
