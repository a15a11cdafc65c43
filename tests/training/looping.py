"""Trainings of the toy, from the beginning to the end."""

import io
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from rich.console import Console

from attnjax.data.batching import Batching
from attnjax.lab.loop.loop import train
from attnjax.lab.loop.run_state import Run, RunGroup, TrainResult
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant, Schedule
from attnjax.training.settings import Recipe, Training
from attnjax.training.train_setup import TrainSetup
from tests.training.toy import Toy, pairs

# One row suffices, so one device: what several do is tested in test_sharding.py.
BATCHING = Batching(max_tokens=48, shapes=1, batch_size_multiple=1)
CORPUS: Any = SimpleNamespace(splits={"train": pairs(40), "valid": pairs(16, seed=1)})
PER_EPOCH = BATCHING.plan(CORPUS.splits["train"]).per_epoch


def go(
    folder: Path,
    *seeds: int,
    model: Any = None,
    schedule: Schedule | None = None,
    shown: io.StringIO | None = None,
    **settings: Any,
) -> list[TrainResult]:
    recipe = Recipe(
        model=model or Toy(),
        objective=CrossEntropy(),
        optimizer=Adam(schedule=schedule or Constant(value=1e-2), clip=1.0),
        training=Training(**{"steps": 3 * PER_EPOCH, "batching": BATCHING} | settings),
    )
    return train(
        [Run(folder=folder / str(seed), seed=seed) for seed in seeds],
        TrainSetup.of(recipe, CORPUS),
        console=Console(file=shown or io.StringIO()),
    )


def same(ours: Any, theirs: Any) -> bool:
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, ours, theirs)))


def interrupt(
    monkeypatch: pytest.MonkeyPatch, step: int, number: signal.Signals = signal.SIGINT
) -> None:
    """Send a signal once, Ctrl-C by default, while the batch of this step is taken."""
    batch, pressed = RunGroup.batch, []

    def press(group: RunGroup) -> Any:
        if group.step == step and not pressed:
            pressed.append(True)
            signal.raise_signal(number)
        return batch(group)

    monkeypatch.setattr(RunGroup, "batch", press)
