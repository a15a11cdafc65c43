"""What a training says of the devices."""

from types import SimpleNamespace
from typing import Any

from attnjax.lab.loop.loop import _remarks
from attnjax.training.devices import sharding
from tests.training.looping import BATCHING
from tests.training.toy import pairs


def remarks(examples: int, rows: int) -> list[str]:
    setup: Any = SimpleNamespace(plan=BATCHING.plan(pairs(examples)))
    return list(_remarks(sharding.devices("mesh", rows=rows, seeds=False), setup))


def test_idle_devices_and_devices_without_examples_are_named():
    assert remarks(40, rows=8) == []
    (idle,) = remarks(40, rows=6)
    assert idle.startswith("trains on 6 of 8 devices")
    (padding,) = remarks(5, rows=8)
    assert padding == (
        "trains on 8 devices with 5 training examples: at least 3 devices only ever compute padding"
    )
