"""The score of answers to the validation split, during a training."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attnjax.training.devices import hosts
from attnjax.training.loop.group import RunGroup
from attnjax.training.loop.hook import Hook
from attnjax.training.settings import Scoring


@dataclass(frozen=True, kw_only=True)
class ValidationScore:
    """A score of the parameters of the run of a seed, and its name in metrics.jsonl.

    `sign` is 1 if a higher score is better, -1 if a lower one is.
    """

    name: str
    sign: int
    score: Callable[[Any, int], float]


class ScoreValidation(Hook):
    """Adds the score to the validation values; the first process decodes, all get the scores.

    A run that has diverged is not decoded: its score is nan.
    """

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
