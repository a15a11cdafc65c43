"""A run's folder: what it is a run of, whether it is finished, and whether its files are whole.

config.json      the experiment, variant, seed, digest of the vocabulary, and all settings
experiment.py    the text of the experiment file
lock             held by the process that trains it
vocabulary/  checkpoints/  metrics.jsonl
result.json      at the end; its presence says that the run is finished
hypotheses.txt  sentences.json  attention.json

config.json and result.json carry digests of themselves, and result.json those of the other files.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from attnjax.config.serialize import from_json, own_names, record_differences, to_json
from attnjax.data.vocabularies import Vocabularies, load_vocabularies
from attnjax.data.vocabulary import Vocabulary
from attnjax.errors import UserError, warn
from attnjax.evaluation.sentence_stats import FILE as SENTENCES
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile, load, load_text
from attnjax.runs.part_source import changed_definitions
from attnjax.runs.sealed import file_digest, read_sealed, write_sealed
from attnjax.runs.trust import shipped, sign, signed
from attnjax.training.checkpoint import average, has_checkpoints
from attnjax.training.metrics_log import FILE as METRICS

CONFIG, EXPERIMENT, RESULT = "config.json", "experiment.py", "result.json"
LOCK = "lock"
HYPOTHESES, ATTENTION, VOCABULARY = "hypotheses.txt", "attention.json", "vocabulary"
STEPS = "training.steps"
"""The one setting that may grow: a finished run then goes on from its last checkpoint."""


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
        text: the digest of experiment.py.
        path: where the experiment file was.
        signature: the user's under `text` and `path`, see `attnjax.runs.trust`.
        tuned: the paths of the fields whose values tuning chose.
    """

    experiment: str
    variant: str
    seed: int
    settings: Any
    vocabulary: str | None = None
    setting: str | None = None
    text: str = ""
    path: str = ""
    signature: str = ""
    tuned: Sequence[str] = ()


def manifest(
    loaded: ExperimentFile,
    variant: str,
    seed: int,
    experiment: Experiment,
    tuned: Sequence[str] = (),
) -> Manifest:
    """The manifest of a run that is to be."""
    text, path = _text_digest(loaded.text), str(loaded.path.resolve())
    return Manifest(
        experiment=loaded.name,
        setting=loaded.setting,
        variant=variant,
        seed=seed,
        settings=to_json(experiment, loaded.own),
        text=text,
        path=path,
        signature=sign(text, path),
        tuned=tuple(tuned),
    )


def check(
    folder: Path,
    wanted: Manifest,
    loaded: ExperimentFile,
    *,
    may_lengthen: bool = False,
    open_fields: Iterable[str] = (),
) -> None:
    """Refuse a folder that has another run, finished or cut off.

    Of the experiment file's text only that of the parts counts which the run is made of. Fields
    that are still to be tuned (`open_fields`) are not compared.

    Raises:
        UserError: the run is of another experiment, or of other settings or parts: the first that
            differs is named with both its values. Or config.json is damaged.
    """
    if not has_progress(folder):
        return
    found = read(folder)
    for name in ("experiment", "setting", "variant", "seed"):
        ours, theirs = getattr(wanted, name), getattr(found, name)
        if ours != theirs:
            raise UserError(
                f"{folder} is a run of {name} {theirs}, not {ours}: choose another --runs"
            )
    for path, theirs, ours in record_differences(found.settings, wanted.settings):
        if path in open_fields or (path == STEPS and may_lengthen and ours > theirs):
            continue
        raise UserError(
            f"{folder} was run with {path} {_shown(theirs)}, not {_shown(ours)}: "
            "choose another --runs"
        )
    if not own_names(wanted.settings):
        warn_of_text(folder, found)
        return
    damage = _text_damage(folder, found)
    try:
        text = (folder / EXPERIMENT).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{damage}: choose another --runs") from error
    if text == loaded.text:
        return
    if damage:
        raise UserError(
            f"{damage}, and the run has parts of its own: restore the file from a copy, or choose "
            "another --runs"
        )
    changed = changed_definitions(text, loaded.text, own_names(wanted.settings))
    if changed:
        raise UserError(
            f"{folder} was run with another text of {changed[0]} in {loaded.name}.py: "
            "choose another --runs"
        )


def has_progress(folder: Path) -> bool:
    """Whether there is anything to lose: a run that failed at its start may be mended."""
    there = (folder / RESULT).exists() or has_checkpoints(folder)
    return there and (folder / CONFIG).exists()


def finished(folder: Path, wanted: Manifest) -> bool:
    """Whether the run has come to its end, and is to have no more steps.

    Raises:
        UserError: a file of a finished run is missing or damaged.
    """
    if not (folder / RESULT).exists() or not (folder / CONFIG).exists():
        return False
    different = record_differences(read(folder).settings, wanted.settings)
    return result(folder) is not None and STEPS not in {path for path, *_ in different}


def claim_folder(
    folder: Path, wanted: Manifest, loaded: ExperimentFile, vocabularies: Vocabularies
) -> None:
    """Write what a run is; one that has begun has to be this one, or this one with fewer steps.

    Raises:
        UserError: it is another (see `check`), or its vocabularies are not these.
    """
    # again: another process may have begun it since
    check(folder, wanted, loaded, may_lengthen=True)
    if has_progress(folder):
        load_vocabularies(folder / VOCABULARY, vocabularies.digest)
        if (folder / RESULT).exists() and not finished(folder, wanted):
            steps = read(folder).settings["training"]["steps"]
            (folder / RESULT).rename(folder / f"result-{steps}.json")
    else:
        shutil.rmtree(folder / VOCABULARY, ignore_errors=True)  # of a start that failed
        vocabularies.save(folder / VOCABULARY)
    (folder / EXPERIMENT).write_text(loaded.text, encoding="utf-8")
    # last, and at once: a folder with it is whole
    write_sealed(folder / CONFIG, asdict(replace(wanted, vocabulary=vocabularies.digest)))


@contextmanager
def locked(folders: Iterable[Path]) -> Iterator[None]:
    """Make runs' folders, and keep other processes out of them by a file `lock` in each.

    Raises:
        UserError: another process is in one of them, or one cannot be made.
    """
    with ExitStack() as held:
        for folder in folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"the folder {folder} cannot be made: {error.strerror}") from error
            try:
                held.enter_context(FileLock(folder / LOCK, blocking=False, fallback_to_soft=False))
            except Timeout as error:
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
        UserError: it is no run's folder, or config.json is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        below = sorted(found.parent for found in folder.glob(f"**/{CONFIG}"))[:1]
        hint = f"; there is one at {below[0]}" if below else ""
        raise UserError(f"{folder} is not the folder of a run: it has no {CONFIG}{hint}")
    try:
        return Manifest(**read_sealed(path))
    except TypeError as error:
        raise UserError(
            f"{path} was written by another version of attnjax: {error}; choose another --runs"
        ) from error


def write_result(folder: Path, content: Mapping[str, Any]) -> None:
    """Write result.json, with the digests of the files that belong to the result."""
    names = (METRICS, HYPOTHESES, SENTENCES, ATTENTION)
    files = {name: file_digest(folder / name) for name in names if (folder / name).exists()}
    write_sealed(folder / RESULT, {**content, "files": files})


def result(folder: Path) -> dict[str, Any] | None:
    """What the run came to; None: it is not finished.

    Raises:
        UserError: result.json, or a file that belongs to it, is missing or damaged.
    """
    try:
        content = read_sealed(folder / RESULT)
    except FileNotFoundError:
        return None
    damage = damaged_files(folder, content)
    if damage:
        raise UserError(
            f"{damage[0]}: restore it from a copy, or run the experiment again under another --runs"
        )
    return content


def damaged_files(folder: Path, content: Mapping[str, Any]) -> list[str]:
    """What is wrong with the files that belong to a result, a clause each."""
    damage = []
    for name, digest in content["files"].items():
        path = folder / name
        if not path.is_file():
            damage.append(f"{path} is missing")
        elif file_digest(path) != digest:
            damage.append(f"{path} is damaged: it is not as it was when the run was finished")
    return damage


def experiment_file(folder: Path, *, trust: bool) -> ExperimentFile:
    """The experiment file of a run, run: as it is now where it was, or else the folder's copy.

    Args:
        folder: the run's.
        trust: run a file that is not the user's own.

    Raises:
        UserError: the file is somebody else's and `trust` is not given, or experiment.py is
            damaged.
    """
    found = read(folder)
    path = Path(found.path)
    own = signed(found.signature, found.text, found.path)
    if own and path.is_file():
        return load(path).at(found.setting)
    return _copy(folder, found, trust=trust or own).at(found.setting)


def _copy(folder: Path, found: Manifest, *, trust: bool) -> ExperimentFile:
    """The folder's copy of the experiment file, run."""
    path = folder / EXPERIMENT
    if damage := _text_damage(folder, found):
        raise UserError(damage)
    text = path.read_text(encoding="utf-8")
    own = signed(found.signature, found.text, found.path) or shipped(found.experiment, text)
    if not (own or trust):
        raise UserError(
            f"{path} is a program that was not run by you on this machine: read it, and add "
            "--trust to run it"
        )
    return load_text(text, name=found.experiment, path=path)


def warn_of_text(folder: Path, found: Manifest) -> None:
    """Warn where the folder's copy of the experiment file is not the one that was run."""
    if damage := _text_damage(folder, found):
        warn(damage if own_names(found.settings) else f"{damage}; the run does not depend on it")


def _text_damage(folder: Path, found: Manifest) -> str | None:
    """What is wrong with the folder's copy of the experiment file; None: nothing."""
    path = folder / EXPERIMENT
    if not path.is_file():
        return f"{path} is missing"
    if sha256(path.read_bytes()).hexdigest() != found.text:
        return f"{path} was changed after the run was started"
    return None


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A run that has been trained, ready for use.

    Attributes:
        folder: the run's.
        manifest: what it is a run of.
        experiment: resolved: with the sizes of the vocabularies and the default metric.
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


def open_trained(folder: Path, *, trust: bool = False) -> Trained:
    """A run from its folder alone: its own record, vocabulary and averaged parameters.

    The folder's experiment.py is run only if the run has parts of its own.

    Args:
        folder: the run's.
        trust: run an experiment.py that is not the user's own.

    Raises:
        UserError: it is no run's folder, not trained yet or damaged, its vocabulary is another's,
            or its experiment.py is somebody else's and `trust` is not given.
    """
    found = read(folder)
    own: Mapping[str, type] = {}
    if own_names(found.settings):
        own = _copy(folder, found, trust=trust).own
    else:
        warn_of_text(folder, found)
    experiment = from_json(found.settings, own)
    if not isinstance(experiment, Experiment):
        raise UserError(f"{folder / CONFIG} is damaged: its settings are no Experiment")
    vocabularies = load_vocabularies(folder / VOCABULARY, found.vocabulary)
    done = (folder / RESULT).exists()
    if done:
        for damage in damaged_files(folder, read_sealed(folder / RESULT)):
            warn(damage)
    return Trained(
        folder=folder,
        manifest=found,
        experiment=experiment.with_vocabularies(vocabularies),
        vocabularies=vocabularies,
        params=average(folder, last=experiment.training.average),
        finished=done,
    )


def _text_digest(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


def _shown(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, str) else value
