"""What a validation decides: a run's score, and whether it stops."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attnjax.training.checkpoints.snapshot import RunProgress
from attnjax.training.devices import hosts
from attnjax.training.loop.group import RunGroup
from attnjax.training.loop.trainer import Hook
from attnjax.training.settings import Scoring


@dataclass(frozen=True, kw_only=True)
class ValidationScore:
    """A score of the parameters of the run of a seed, and its name in metrics.jsonl."""

    name: str
    sign: int  # 1 if a higher score is better, -1 if a lower one is
    score: Callable[[Any, int], float]


class ScoreValidation(Hook):
    """Adds the score, nan of a run that has diverged; the first process decodes, all get scores."""

    def __init__(self, group: RunGroup, scoring: Scoring, by: ValidationScore) -> None:
        self._group, self._scoring, self._by = group, scoring, by

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        group = self._group
        epoch = -(-group.step // group.setup.plan.per_epoch)
        if epoch % self._scoring.every and group.step < group.setup.recipe.training.steps:
            return
        scores = [
            self._by.score(state.params, run.run.seed) if run.failure is None else math.nan
            for run, state in zip(group.runs, group.states(), strict=True)
            if hosts.is_first()
        ]
        values[self._by.name] = np.array(hosts.say(scores))


class EarlyStopping(Hook):
    """Marks the runs that stop after an epoch, by the validation loss or by a score."""

    def __init__(self, group: RunGroup, by: ValidationScore | None) -> None:
        self._group, self._training = group, group.setup.recipe.training
        self._name, self._sign = ("loss", 1) if by is None else (by.name, -by.sign)

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        for index, run in enumerate(self._group.runs):
            loss = self._sign * float(values[self._name][index]) if values else None
            run.progress = self._after_epoch(run.progress, loss)

    def _after_epoch(self, progress: RunProgress, loss: float | None) -> RunProgress:
        """The progress of a run after an epoch; the lower the loss, the better.

        If the last step cuts an epoch short, its loss does not count as one of the epochs': a run
        that is lengthened later must go on as if it had been longer from the start.
        """
        step, training = self._group.step, self._training
        if loss is not None and not np.isfinite(loss):
            loss = np.inf
            progress = replace(progress, best=np.inf, waited=progress.waited + 1)
        elif loss is not None and not step % self._group.setup.plan.per_epoch:
            lowest = progress.best is None or loss < progress.best
            waited = 0 if lowest else progress.waited + 1
            progress = replace(progress, best=loss if lowest else progress.best, waited=waited)
        progress = replace(progress, loss=loss)
        if training.patience is not None and progress.waited >= training.patience:
            progress = replace(progress, stopped="patience")
        if step >= training.steps:
            progress = replace(progress, stopped="steps")
        return progress
