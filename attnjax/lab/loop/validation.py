"""Early stopping: the score of a validation, and whether a run stops by it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attnjax.lab.checkpoints.snapshot import RunProgress
from attnjax.lab.loop.hook import Hook
from attnjax.lab.loop.run_state import RunGroup
from attnjax.training.devices import hosts


@dataclass(frozen=True, kw_only=True)
class ValidationScore:
    """A score of the parameters of the run of a seed, and its name in metrics.jsonl."""

    name: str
    sign: int  # 1 if a higher score is better, -1 if a lower one is
    score: Callable[[Any, int], float]


class Validation(Hook):
    """Adds the score, if there is one, and marks the runs that stop by it or by the loss."""

    def __init__(self, group: RunGroup, score: ValidationScore | None) -> None:
        self._group, self._training, self._score = group, group.setup.recipe.training, score

    def epoch(self, values: dict[str, np.ndarray]) -> None:
        name, sign, scoring = "loss", 1, self._training.scoring
        if self._score is not None and scoring is not None:
            self._add_score(values, self._score, scoring.every)
            if scoring.decides == "score":
                name, sign = self._score.name, -self._score.sign
        for index, run in enumerate(self._group.runs):
            loss = sign * float(values[name][index]) if values else None
            run.progress = self._after_epoch(run.progress, loss)

    def _add_score(self, values: dict[str, np.ndarray], score: ValidationScore, every: int) -> None:
        """Score in process 0 and broadcast to all; the score of a diverged run is NaN."""
        group = self._group
        epoch = -(-group.step // group.setup.plan.per_epoch)
        if epoch % every and group.step < self._training.steps:
            return
        scores = [
            score.score(state.params, run.run.seed) if run.failure is None else math.nan
            for run, state in zip(group.runs, group.states(), strict=True)
            if hosts.is_first()
        ]
        values[score.name] = np.array(hosts.broadcast_json(scores))

    def _after_epoch(self, progress: RunProgress, loss: float | None) -> RunProgress:
        """Return the progress of a run after an epoch; the lower the loss, the better.

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
