"""A check of every loss and gradient: what is not finite ends a run, and its batch is kept."""

import numpy as np

from attnjax.errors import Diverged, UserError
from attnjax.files import replacing
from attnjax.lab.loop.hook import Hook
from attnjax.lab.loop.run_state import RunGroup, RunState
from attnjax.training.devices import hosts

# the folder of kept batches, in the run's folder: `step-<n>.npz`
FOLDER = "not_finite"

MOST_IN_A_ROW = 10  # the number of skipped updates in a row after which a run stops
MOST_KEPT = 20  # the number of batches that are kept of a run


class FiniteCheck(Hook):
    """Ends runs whose loss or gradient is not finite, and keeps their batches; the others go on."""

    def __init__(self, group: RunGroup) -> None:
        self._group = group

    def after(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        if "skipped" in metrics:
            self._count_skipped(step, metrics["skipped"])
        else:
            self._check(step, "loss", metrics["loss"])
            self._check(step, "gradient", metrics["gradient_norm"])

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        if values:
            self._check(self._group.step, "validation loss", values["loss"])

    def _count_skipped(self, step: int, skipped: np.ndarray) -> None:
        """Keep the batches of skipped updates; too many of them in a row end a run."""
        for run, skip in zip(self._group.runs, skipped, strict=True):
            run.skipped = run.skipped + 1 if skip else 0
            if skip:
                self._keep(run, step)
            if run.skipped == MOST_IN_A_ROW and not run.run.may_diverge:
                run.failure = UserError(
                    f"{run.run.folder}: the last {MOST_IN_A_ROW} updates up to step {step} were "
                    f"skipped, because a loss or a gradient was not finite; {_advice(step)}"
                )
        self._raise_if_all_failed()

    def _check(self, step: int, what: str, values: np.ndarray) -> None:
        for run, value in zip(self._group.runs, values, strict=True):
            if not np.isfinite(value) and not run.run.may_diverge and run.failure is None:
                run.failure = UserError(
                    f"{run.run.folder}: the {what} of step {step} is {value}; {_advice(step)}"
                )
                self._keep(run, step)
        self._raise_if_all_failed()

    def _keep(self, run: RunState, step: int) -> None:
        """Keep the batch of an update in the run's folder, unless many are there already."""
        if not hosts.is_first():
            return
        folder, seed = run.run.folder / FOLDER, run.run.seed
        folder.mkdir(exist_ok=True)
        if len(list(folder.iterdir())) < MOST_KEPT:
            batch = self._group.setup.plan_of(seed).batch(step - 1, seed)
            with replacing(folder / f"step-{step}.npz") as beside, beside.open("wb") as file:
                np.savez(file, **batch._asdict())

    def _raise_if_all_failed(self) -> None:
        runs = self._group.runs
        errors = {run.run.folder: run.failure for run in runs if run.failure is not None}
        if len(errors) == len(runs):
            raise Diverged(errors)


def _advice(step: int) -> str:
    return (
        "a lower learning rate, a longer warm-up or clipping may help (earlier checkpoints are "
        f"kept, and so is the batch, as {FOLDER}/step-{step}.npz)"
    )
