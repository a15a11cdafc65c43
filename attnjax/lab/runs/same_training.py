"""A training that another variant has had, copied instead of repeated.

Variants that differ only in what comes after the training, such as the width of a beam, have the
same parameters, to the bit.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from attnjax.config.serialize import own_names
from attnjax.errors import UserError
from attnjax.experiment.experiment import AFTER_TRAINING
from attnjax.lab.checkpoints.checkpoint import FOLDER
from attnjax.lab.checkpoints.corruption import corruption, saved_steps
from attnjax.lab.log.metrics_log import EVENTS, FILE as METRICS
from attnjax.lab.runs.lease import holder
from attnjax.lab.runs.manifest import Manifest, read
from attnjax.lab.runs.provenance import sources
from attnjax.lab.runs.run_folder import INITIAL, has_progress, result
from attnjax.lab.runs.versions import machine, versions

EQUAL = ("experiment", "setting", "seed", "together", "vocabulary", "data", "data_of_seed")
"""What the manifests of two runs of the same training share, beside their settings."""


def copy_same_training(runs: Sequence[Path], variant: Path, others: Sequence[Path]) -> Path | None:
    """Copy the trainings of a group of runs that have manifests, and have not begun.

    They are those that one of the `others` has finished, at the same places in its folder as the
    runs have in that of their `variant`. Return that folder; None: there is none.
    """
    if any(map(has_progress, runs)):
        return None
    for other in others:
        sources = [other / run.relative_to(variant) for run in runs]
        if all(map(_same, runs, sources)):
            copies = [*map(_copy, sources, runs)]
            # a kill before this leaves no run begun; in between, a group that begins again, because
            # checkpoints count only if all of a group have them
            for copy, run in zip(copies, runs, strict=True):
                shutil.rmtree(run / FOLDER, ignore_errors=True)  # a killed start made it
                copy.rename(run / FOLDER)
            return other
    return None


def _same(run: Path, other: Path) -> bool:
    """Return whether another run is finished, whole, and of the training that a run wants."""
    try:
        finished = result(other, {})
        if finished is None or holder(other) is not None:
            return False
        ours, theirs = read(run), read(other)
    except UserError:
        return False
    saved = saved_steps(other / FOLDER)
    return (
        all(getattr(ours, name) == getattr(theirs, name) for name in EQUAL)
        and not any(_differences(ours, theirs))
        and (finished.machine, finished.versions) == (machine(), versions())
        # a result names one version of attnjax: that which trained must be the one that measures
        and finished.code is not None
        and finished.code.attnjax.numbers == sources().numbers
        and {finished.step, *finished.averaged} <= {*saved}
        and not any(corruption(other / FOLDER / str(step)) for step in saved)
    )


def _differences(ours: Manifest, theirs: Manifest) -> Iterator[str]:
    """Yield the settings that the trainings of two runs may differ by."""
    scored = ours.training("scoring") is not None
    for path, *_ in ours.differences(theirs.settings):
        if scored or path.partition(".")[0] not in AFTER_TRAINING:
            yield path
    own = own_names(ours.settings) or own_names(theirs.settings)
    if own and (ours.text, ours.imported) != (theirs.text, theirs.imported):
        yield "the text of the user's own parts"


def _copy(source: Path, run: Path) -> Path:
    """Copy the logs and the checkpoints of a run to another's folder; return where these are."""
    copy = run / f"{FOLDER}.copied"
    shutil.rmtree(copy, ignore_errors=True)  # one that was interrupted
    copy.mkdir()
    for step in saved_steps(source / FOLDER):
        shutil.copytree(source / FOLDER / str(step), copy / str(step))
    for name in (METRICS, INITIAL, f"{EVENTS}*"):
        for path in source.glob(name):
            shutil.copyfile(path, run / path.name)
    return copy
