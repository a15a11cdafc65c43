"""The log of runs that train together: the rows of metrics.jsonl, and the console."""

import numpy as np

from attnjax.lab.log.console import Display
from attnjax.lab.log.metrics_log import RunningMean
from attnjax.lab.loop.hook import Hook
from attnjax.lab.loop.run_state import RunGroup
from attnjax.training.devices import hosts
from attnjax.training.devices.memory import peak_memory

# the training rows of metrics.jsonl: about so many per epoch, each for so many steps
ROWS_AN_EPOCH, FEWEST_STEPS_A_ROW, MOST_STEPS_A_ROW = 20, 10, 50


class TrainLog(Hook):
    """Writes rows to every run's metrics.jsonl, and shows the progress on the console.

    A row has "step", "epoch" (from 1), "split" ("train" or "valid"), "seconds" (as in
    `TrainResult`, so far) and the objective's means over tokens. Training rows hold means since the
    row before, or since an interruption after it, and also "learning_rate", "gradient_norm" (before
    clipping), "tokens_per_second" (of the target), "padding" (its share of the positions of an
    epoch's batches), "waiting_for_data" (the share of the time in which updates waited for their
    batches), "skipped" (the number of skipped updates, if they are skipped), and the highest memory
    so far in bytes: "host_memory", and "device_memory" of the fullest device, where it tells.
    """

    def __init__(self, group: RunGroup, shown: Display) -> None:
        self._group, self._shown, self._epoch_ended = group, shown, True
        self._padding = group.setup.plan.padding
        self._steps, self._per_epoch = group.setup.recipe.training.steps, group.setup.plan.per_epoch

    def before(self, step: int) -> None:
        if self._epoch_ended:  # the time of a validation and of a save counts to no row
            self._epoch, self._epoch_ended = RunningMean(), False
            self._begin_row()

    def after(self, step: int, metrics: dict[str, np.ndarray]) -> None:
        counted = metrics
        if "skipped" in metrics:
            skipped = metrics["skipped"]
            self._skipped = self._skipped + skipped
            counted = {name: np.where(skipped, 0, value) for name, value in metrics.items()}
            del counted["skipped"]
        self._row.add(counted)
        self._epoch.add(counted)
        self._shown.step(step, self._of_going(metrics)["loss"])
        if not self._row_is_due(step):
            return
        means = self._row.means()
        recipe, runs = self._group.setup.recipe, self._group.runs
        schedules = (run.run.schedule or recipe.optimizer.schedule for run in runs)
        means["learning_rate"] = np.array([float(schedule.rate(step)) for schedule in schedules])
        if "skipped" in metrics:
            means["skipped"] = self._skipped
        waiting = (self._group.waited - self._waited) / self._row.seconds
        shared = {**peak_memory(), "padding": self._padding, "waiting_for_data": waiting}
        means |= {name: np.full(len(runs), value) for name, value in shared.items()}
        self._write(step, "train", means)
        self._shown.speed(float(self._of_going(means)["tokens_per_second"].sum()))
        self._begin_row()

    def _begin_row(self) -> None:
        self._row, self._skipped, self._waited = RunningMean(), np.zeros(()), self._group.waited

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        step = self._group.step
        if values:
            self._write(step, "valid", values)
        means = {} if self._epoch_ended else self._of_going(self._epoch.means())
        self._shown.epoch(self._number(step), step, means, self._of_going(values))
        self._epoch_ended = True

    def _of_going(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Select the values of the runs that have not diverged."""
        going = [run.failure is None for run in self._group.runs]
        return {name: value[going] for name, value in values.items()}

    def _row_is_due(self, step: int) -> bool:
        every = min(max(self._per_epoch // ROWS_AN_EPOCH, FEWEST_STEPS_A_ROW), MOST_STEPS_A_ROW)
        return not step % every or not step % self._per_epoch or step == self._steps

    def _number(self, step: int) -> int:
        """Return the number of the epoch that a step is in, from 1."""
        return (step - 1) // self._per_epoch + 1

    def _write(self, step: int, split: str, values: dict[str, np.ndarray]) -> None:
        """Add a row to the metrics.jsonl of every run that has not diverged."""
        group = self._group
        if not hosts.is_first():
            return
        for index, (run, seconds) in enumerate(zip(group.runs, group.seconds, strict=True)):
            if run.failure is not None:
                continue
            row = {name: float(value[index]) for name, value in values.items()}
            run.log.write(step=step, epoch=self._number(step), split=split, **row, seconds=seconds)
