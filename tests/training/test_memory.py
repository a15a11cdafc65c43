"""What a seed takes is estimated before it is trained."""

from functools import partial
from typing import Any

import jax
import pytest

from attnjax.data.batch_plan import Batch
from attnjax.training.devices import memory
from attnjax.training.devices.memory import free_memory, peak_memory, seed_memory
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import on_one_device, train_step
from attnjax.training.train_setup import TrainSetup
from tests.tiny import base
from tests.training.looping import BATCHING, CORPUS
from tests.training.toy import Toy


def setup(model: Any, width: int | None = None) -> TrainSetup:
    model = model if width is None else model.clone(vocabulary=11, width=width)
    recipe = Recipe(
        model=model,
        objective=CrossEntropy(),
        optimizer=Adam(),
        training=Training(batching=BATCHING),
    )
    return TrainSetup.of(recipe, CORPUS)


@pytest.mark.parametrize(
    "model, width",
    [(Toy(), None), (base.model, 16), pytest.param(base.model, 128, marks=pytest.mark.long)],
)
def test_the_estimate_is_near_what_the_compiler_says(model, width):
    given = setup(model, width)
    step = jax.jit(partial(train_step, recipe=given.recipe, over_devices=on_one_device))
    shapes = Batch(*(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in given.plan.batch(0, 0)))
    said = step.lower(given.state_shapes(), shapes).compile().memory_analysis()
    needed = said.argument_size_in_bytes + said.temp_size_in_bytes
    assert needed / 3 < seed_memory(given) < 3 * needed


def test_the_machine_tells_its_memory(monkeypatch):
    free = free_memory()
    assert free is not None
    assert 2**20 < free < 2**50
    assert peak_memory()["host_memory"] > 2**20
    told = [{"bytes_limit": 100, "bytes_in_use": 30, "peak_bytes_in_use": 60}]
    told += [{"bytes_limit": 90, "bytes_in_use": 10, "peak_bytes_in_use": 70}]

    class Device:
        def memory_stats(self) -> dict[str, int]:
            return told.pop(0)

    monkeypatch.setattr(memory.jax, "local_devices", lambda: [Device(), Device()])
    stats = list(told)
    assert free_memory() == 70
    told += stats
    assert peak_memory()["device_memory"] == 70
