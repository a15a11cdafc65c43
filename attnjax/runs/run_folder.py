"""A run's folder: what it is a run of, and whether it is finished.

config.json      the experiment, variant, seed, digest of the vocabulary, and all settings
experiment.py    the text of the experiment file
lock             held by the process that trains it
vocabulary/  checkpoints/  metrics.jsonl
result.json      at the end; its presence says that the run is finished
hypotheses.txt  sentences.json  attention.json
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from attnjax.config.serialize import from_json, has_own, record_differences, to_json
from attnjax.data.vocabularies import Vocabularies, load_vocabularies
from attnjax.data.vocabulary import Vocabulary
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile, load_text
from attnjax.training.checkpoint import FOLDER as CHECKPOINTS
from attnjax.training.checkpoint import average

CONFIG, EXPERIMENT, RESULT = "config.json", "experiment.py", "result.json"
LOCK = "lock"
HYPOTHESES, ATTENTION, VOCABULARY = "hypotheses.txt", "attention.json", "vocabulary"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What config.json holds.

    Attributes:
        experiment: the experiment file's name.
        setting: which of its other settings; None: none of them.
        variant: which of its variants.
        seed: the run's.
        settings: the record of the `Experiment`.
        vocabulary: the digest of the run's vocabularies; None before the data is read.
    """

    experiment: str
    variant: str
    seed: int
    settings: Any
    vocabulary: str | None = None
    setting: str | None = None


def check(folder: Path, wanted: Manifest, loaded: ExperimentFile) -> None:
    """Refuse a folder that has another run, finished or cut off.

    Raises:
        UserError: it is of another experiment, or of other settings; the first that differs is
            named with both its values.
    """
    if not _begun(folder):
        return
    found = read(folder)
    for name in ("experiment", "setting", "variant", "seed"):
        ours, theirs = getattr(wanted, name), getattr(found, name)
        if ours != theirs:
            raise UserError(
                f"{folder} is a run of {name} {theirs}, not {ours}: choose another --runs"
            )
    different = record_differences(found.settings, wanted.settings)
    if different:
        path, theirs, ours = different[0]
        raise UserError(
            f"{folder} was run with {path} {_shown(theirs)}, not {_shown(ours)}: "
            "choose another --runs"
        )
    if has_own(wanted.settings) and (folder / EXPERIMENT).read_text("utf-8") != loaded.text:
        raise UserError(
            f"{folder} was run with another text of {loaded.name}.py, which has parts of its own: "
            "choose another --runs"
        )


def _begun(folder: Path) -> bool:
    """Whether there is anything to lose: a run that failed at its start may be mended."""
    saved = (folder / CHECKPOINTS).glob("*")
    there = (folder / RESULT).exists() or any(path.name.isdigit() for path in saved)
    return there and (folder / CONFIG).exists()


def _shown(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, str) else value


def open_folder(
    folder: Path, wanted: Manifest, loaded: ExperimentFile, vocabularies: Vocabularies
) -> None:
    """Write what a run is; one that has begun has to be this one.

    Raises:
        UserError: it is another (see `check`), or its vocabularies are not these.
    """
    # again: another process may have begun it since
    check(folder, wanted, loaded)
    if _begun(folder):
        load_vocabularies(folder / VOCABULARY, vocabularies.digest)
        return
    (folder / EXPERIMENT).write_text(loaded.text, encoding="utf-8")
    shutil.rmtree(folder / VOCABULARY, ignore_errors=True)  # of a start that failed
    vocabularies.save(folder / VOCABULARY)
    # last, and at once: a folder with it is whole
    write_json(folder / CONFIG, {**asdict(wanted), "vocabulary": vocabularies.digest})


@contextmanager
def alone(folders: Iterable[Path]) -> Iterator[None]:
    """Make runs' folders, and keep other processes out of them by a file `lock` in each.

    Raises:
        UserError: another is in one of them, or one cannot be made.
    """
    with ExitStack() as held:
        for folder in folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"the folder {folder} cannot be made: {error.strerror}") from error
            file = held.enter_context((folder / LOCK).open("w"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(
                    f"{folder} is being trained by another process: wait for it, or choose another "
                    "--runs"
                ) from error
            except OSError:
                pass  # a cluster's file system may know no locks
        yield


def read(folder: Path) -> Manifest:
    """The manifest of a run's folder.

    Raises:
        UserError: it is no run's folder, or damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        below = sorted(found.parent for found in folder.glob(f"**/{CONFIG}"))[:1]
        hint = f"; there is one at {below[0]}" if below else ""
        raise UserError(f"{folder} is not the folder of a run: it has no {CONFIG}{hint}")
    try:
        return Manifest(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}") from error


def result(folder: Path) -> dict[str, Any] | None:
    """What the run came to; None: it is not finished.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / RESULT
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise UserError(f"{path} is damaged: delete it to have it made again") from error


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A run that has been trained, ready for use.

    Attributes:
        folder: the run's.
        manifest: what it is a run of.
        experiment: resolved: its model has the sizes of the vocabularies.
        vocabularies: the run's own.
        params: averaged.
        finished: whether it was trained to its end.
    """

    folder: Path
    manifest: Manifest
    experiment: Experiment
    vocabularies: Vocabularies
    params: Any
    finished: bool

    def text(self, side: Literal["source", "target"]) -> Vocabulary:
        """The vocabulary of a side that is text.

        Raises:
            UserError: it is none.
        """
        vocabulary = getattr(self.vocabularies, side)
        if vocabulary is None:
            raise UserError(f"{self.folder} was trained on data whose {side} is no text")
        return vocabulary


def open_trained(folder: Path) -> Trained:
    """A run from its folder alone: its own record, vocabulary and averaged parameters.

    Raises:
        UserError: it is no run's folder, not trained yet, damaged, or the vocabulary is another's.
    """
    manifest = read(folder)
    try:
        text = (folder / EXPERIMENT).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{folder / EXPERIMENT} cannot be read: {error}") from error
    own: Mapping[str, type] = {}
    if has_own(manifest.settings):
        own = load_text(text, name=manifest.experiment, path=folder / EXPERIMENT).own
    experiment = from_json(manifest.settings, own)
    if not isinstance(experiment, Experiment):
        raise UserError(f"{folder / CONFIG} is damaged: its settings are no Experiment")
    vocabularies = load_vocabularies(folder / VOCABULARY, manifest.vocabulary)
    return Trained(
        folder=folder,
        manifest=manifest,
        experiment=replace(
            experiment, model=experiment.model.with_vocabularies(*vocabularies.sizes)
        ),
        vocabularies=vocabularies,
        params=average(folder, last=experiment.training.average),
        finished=result(folder) is not None,
    )


def manifest(loaded: ExperimentFile, variant: str, seed: int, experiment: Experiment) -> Manifest:
    """The manifest of a run that is to be."""
    settings = to_json(experiment, loaded.own)
    return Manifest(
        experiment=loaded.name,
        setting=loaded.setting,
        variant=variant,
        seed=seed,
        settings=settings,
    )


def write_json(path: Path, data: Any) -> None:
    """Write JSON whole or not at all."""
    # two processes may each put a summary together
    whole = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    whole.write_text(text + "\n", encoding="utf-8")
    whole.replace(path)
