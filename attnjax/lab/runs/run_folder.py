"""A run's folder: who may write to it, the status of the run, whether its files are whole.

docs/architecture.md lists the files. result.json exists if and only if the run is finished; it and
config.json carry digests of themselves, and result.json those of the other files.
"""

import json
import shutil
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from attnjax.config.serialize import own_names
from attnjax.data.vocabularies import Vocabularies, load_vocabularies
from attnjax.errors import UserError, warn
from attnjax.evaluation.sentence_stats import FILE as SENTENCES
from attnjax.experiment.load import ExperimentFile
from attnjax.files import file_digest, flush, write_atomically
from attnjax.lab.checkpoints.checkpoint import (
    has_checkpoints,
    has_whole_checkpoint,
    latest_step,
)
from attnjax.lab.log.metrics_log import FILE as METRICS
from attnjax.lab.runs import failures
from attnjax.lab.runs.json_files import write_sealed
from attnjax.lab.runs.lease import holder
from attnjax.lab.runs.manifest import CONFIG, EXPERIMENT, Manifest, read, text_damage, warn_of_text
from attnjax.lab.runs.module_copies import write_modules
from attnjax.lab.runs.provenance import (
    Sources,
    changed_definitions,
    check_imported,
    check_packages,
    joined,
    other_makers,
    sources,
)
from attnjax.lab.runs.result import RESULT, RunResult, read_result

INITIAL = "initial_parameters.json"
HYPOTHESES, REFERENCES, ATTENTION = "hypotheses.txt", "references.json", "attention.json"
ANSWERS = (HYPOTHESES, REFERENCES, SENTENCES, ATTENTION)
OF_RESULT = (CONFIG, INITIAL, METRICS, *ANSWERS)
"""The files whose digests result.json has."""

VOCABULARY = "vocabulary"
STEPS = "training.steps"
"""The only setting that may grow: a finished run then goes on from its last checkpoint."""

MACHINE = ("training.parallel", "training.device_tokens")
"""Settings that a run may go on without: they belong to the machine, and change no result."""

type Verified = dict[Path, RunResult]
"""Results whose files were hashed and are whole, by the runs' folders."""


def check(
    folder: Path,
    wanted: Manifest,
    loaded: ExperimentFile,
    *,
    may_lengthen: bool = False,
    open_fields: Iterable[str] = (),
) -> None:
    """Refuse a folder that holds another run, finished or interrupted, than is `wanted`.

    Of the experiment file only the definitions of the run's own parts are compared; fields that are
    still to be tuned, `open_fields`, are not. The run may have more steps if it `may_lengthen`.
    """
    if not has_progress(folder):
        return
    if not (folder / CONFIG).exists():
        raise UserError(
            f"{folder} has a training's files but no {CONFIG}, which says of what: restore it from "
            "a copy, or choose another --runs"
        )
    present = read(folder)
    for name in ("experiment", "setting", "variant", "seed"):
        ours, theirs = getattr(wanted, name), getattr(present, name)
        if ours != theirs:
            raise UserError(
                f"{folder} is a run of {name} {theirs}, not {ours}: choose another --runs"
            )
    for path, theirs, ours in present.differences(wanted.settings):
        lengthened = path == STEPS and may_lengthen and ours > theirs
        if lengthened or path in MACHINE or path in open_fields:
            continue
        raise UserError(
            f"{folder} was run with {path} {_shown(theirs)}, not {_shown(ours)}: "
            "choose another --runs"
        )
    if own_names(wanted.settings):
        _check_own_parts(folder, present, wanted, loaded)
    else:
        warn_of_text(folder, present)


def _check_own_parts(
    folder: Path, present: Manifest, wanted: Manifest, loaded: ExperimentFile
) -> None:
    """Refuse a run whose parts of the user's own have another text, or cannot be compared."""
    check_imported(folder, present.imported, wanted.imported)
    check_packages(folder, present.packages, wanted.packages)
    path = folder / EXPERIMENT
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if text == loaded.text:
        return
    if damage := text_damage(folder, present):
        raise UserError(
            f"{damage}, and the run has parts of its own: restore the file from a copy, or choose "
            "another --runs"
        )
    if changed := changed_definitions(text, loaded.text, own_names(wanted.settings)):
        raise UserError(
            f"{folder} was run with another text of {changed[0]} in {loaded.name}.py: "
            "choose another --runs"
        )


def has_progress(folder: Path) -> bool:
    """Return whether a folder has a checkpoint or result, which no other run may replace.

    After a loss of power config.json may be empty, and all checkpoints, too: then it has neither.
    """
    if (folder / RESULT).exists():
        return True
    return has_checkpoints(folder) and (_is_readable(folder) or has_whole_checkpoint(folder))


def _is_readable(folder: Path) -> bool:
    """Return whether the manifest of a run can be read."""
    try:
        read(folder)
    except UserError:
        return False
    return True


def finished(folder: Path, wanted: Manifest, verified: Verified) -> RunResult | None:
    """Return the result of a run that is finished with as many steps as wanted; None: it is not."""
    if not (folder / RESULT).exists() or not (folder / CONFIG).exists():
        return None
    different = read(folder).differences(wanted.settings)
    content = result(folder, verified)
    return None if STEPS in {path for path, *_ in different} else content


@dataclass(frozen=True)
class RunStatus:
    """The status of a run.

    Attributes:
        state: done: it is finished, and its files are whole; recorded: a record stands in for it;
            failed: it did the last time, and no process trains it; begun: it was interrupted after
            the checkpoint of `step`; missing: it was never started, or has no checkpoint yet.
        step: that of its last checkpoint, unless it is done.
        detail: which process is running it, why it failed, or by which commit it was recorded.
    """

    state: Literal["done", "recorded", "running", "failed", "begun", "missing"]
    step: int = 0
    detail: str = ""


def unfinished_status(folder: Path) -> RunStatus:
    """Return the status of a run that is not finished."""
    step = latest_step(folder)
    if (process := holder(folder)) is not None:
        return RunStatus("running", step, str(process))
    if (reason := failures.own_reason(folder)) is not None:
        return RunStatus("failed", step, reason)
    return RunStatus("begun" if step else "missing", step)


def claim_folder(
    folder: Path, wanted: Manifest, loaded: ExperimentFile, vocabularies: Vocabularies
) -> None:
    """Write the manifest, experiment file and vocabularies of a run that is about to be trained.

    A run that is already in the folder must be the same one; it may have fewer steps. The files of
    a finished run stay as they are, see `supersede`.
    """
    # check again: another process may have started a run here meanwhile
    check(folder, wanted, loaded, may_lengthen=True)
    if has_progress(folder):
        load_vocabularies(folder / VOCABULARY, vocabularies.digest)
        if other := other_makers(_made_by(folder)):
            warn(f"{folder} was begun by {other}, and goes on; its {RESULT} names both")
    else:
        shutil.rmtree(folder / VOCABULARY, ignore_errors=True)  # a failed start left it
        vocabularies.save(folder / VOCABULARY)
    if not (folder / RESULT).exists():
        _write_manifest(folder, wanted, loaded, vocabularies, _made_by(folder))


def supersede(
    folder: Path, wanted: Manifest, loaded: ExperimentFile, vocabularies: Vocabularies
) -> None:
    """Make an unfinished run of more steps of one that is finished; result-STEPS.json is kept.

    This comes once a longer training has saved something: one that cannot begin changes nothing.
    """
    if (folder / RESULT).exists():
        steps, made_by = read(folder).training("steps"), _made_by(folder)
        (folder / RESULT).rename(folder / f"result-{steps}.json")
        _write_manifest(folder, wanted, loaded, vocabularies, made_by)


def _made_by(folder: Path) -> tuple[Sources, ...]:
    """Return the versions of attnjax that have trained the run in a folder, if it says so."""
    if not has_progress(folder):
        return ()
    if made_by := read(folder).made_by:
        return made_by
    finished = read_result(folder)
    return (finished.code.attnjax,) if finished is not None and finished.code is not None else ()


def _write_manifest(
    folder: Path,
    wanted: Manifest,
    loaded: ExperimentFile,
    vocabularies: Vocabularies,
    made_by: Iterable[Sources],
) -> None:
    made = replace(wanted, vocabulary=vocabularies.digest, made_by=joined(made_by, sources()))
    write_atomically(folder / EXPERIMENT, loaded.text)
    write_modules(folder, loaded.modules if wanted.modules else {})
    # written last: a folder with a manifest is complete
    write_sealed(folder / CONFIG, asdict(made))


def write_result(folder: Path, content: RunResult, being_replaced: Collection[str] = ()) -> None:
    """Write result.json, with the digests of the files that belong to the result.

    Files that are about to be replaced have the digest "", which is not compared.
    """
    present = [name for name in OF_RESULT if (folder / name).exists()]
    for name in present:
        flush(folder / name)  # a log is appended to
    files = {name: "" if name in being_replaced else file_digest(folder / name) for name in present}
    made_by = read(folder).made_by if CONFIG in present else ()
    took_part = made_by if len(made_by) > 1 else ()
    write_sealed(folder / RESULT, replace(content, files=files, made_by=took_part).record())


def result(folder: Path, verified: Verified) -> RunResult | None:
    """Return the result of a run whose files are whole, and add it to `verified`; None: unfinished.

    The files of a result that is verified already are not hashed again.
    """
    content = read_result(folder)
    if content is None or verified.get(folder) == content:
        return content
    if damage := damaged_files(folder, content):
        raise UserError(
            f"{damage[0]}: restore it from a copy, or run the experiment again under another --runs"
        )
    verified[folder] = content
    return content


def damaged_files(folder: Path, content: RunResult) -> list[str]:
    """List the damaged, missing or foreign files of a result, a clause for each."""
    damage = [
        f"{folder / name} is not of this result: {RESULT} does not name it"
        for name in ANSWERS
        if name not in content.files and (folder / name).is_file()
    ]
    for name, digest in content.files.items():
        if not digest:
            continue
        path = folder / name
        if not path.is_file():
            damage.append(f"{path} is missing")
        elif file_digest(path) != digest and not (name == METRICS and _grown(path, digest)):
            damage.append(f"{path} is damaged: it is not as it was when the run was finished")
    return damage


def _grown(path: Path, digest: str) -> bool:
    """Return whether a log's first rows have this digest: training appends before it saves."""
    total = sha256()
    with path.open("rb") as file:
        for line in file:
            total.update(line)
            if total.hexdigest() == digest:
                return True
    return False


def _shown(value: Any) -> str:
    return json.dumps(value) if not isinstance(value, str) else value
