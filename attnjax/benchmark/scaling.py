"""How a training step gets faster with the number of devices: virtual CPU devices, on this machine.

    python -m attnjax.benchmark.scaling     prints a JSON object: a step on all devices there are

The devices share this machine's cores, so that no more of them than cores can help; what the table
shows of a real machine is the share of a step that goes into adding up gradients.
"""

import json
import sys
from functools import partial
from statistics import median
from typing import Any

from rich.table import Table

from attnjax.benchmark.prepared import in_own_process
from attnjax.benchmark.train import SIZES, Size, batch, on_devices, recipe_of, transformer
from attnjax.benchmark.workload import Prepared
from attnjax.console import plain_table
from attnjax.rehearsal.hlo import parse
from attnjax.rehearsal.traffic import collectives
from attnjax.training.step import on_one_device, train_step

DEVICES = (1, 2, 4, 8)
"""The numbers of devices that `attnjax bench scaling` compares."""

SIZE = "tiny"
TURNS = 7


def measure() -> dict[str, Any]:
    """The rows of all numbers of devices."""
    return {"scaling": [_measured(count) for count in DEVICES]}


def _measured(count: int) -> dict[str, Any]:
    """A row of the table, measured in a process of its own with `count` virtual CPU devices."""
    print(f"{count} of {DEVICES[-1]} devices", file=sys.stderr)
    flags = f"--xla_force_host_platform_device_count={count}"
    environment = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    return in_own_process("scaling", environment=environment)


def step_times(size: Size, *, turns: int = TURNS) -> dict[str, Any]:
    """The seconds of a step on all devices, with and without the sum over devices.

    Without it every device updates with its own gradient: the same arithmetic, nothing sent. The
    difference is the price of the collectives. Both are timed in turns.
    """
    recipe = recipe_of(transformer(size))
    devices, held, shared = on_devices(recipe, batch(size.rows, size.length))
    step = partial(train_step, recipe=recipe)

    def alone(held: Any, rows: Any, *, over_devices: Any) -> Any:
        return step(held, rows, over_devices=on_one_device)

    programs: list[Any] = [
        devices.compile(each, donate=False).lower(held, shared).compile()  # pyright: ignore
        for each in (step, alone)
    ]
    steps = [Prepared(call=partial(program, held, shared)) for program in programs]
    for each in steps:
        each.seconds(1)
    samples = [[each.seconds(1) for each in steps] for _ in range(turns)]
    with_sum, without = (median(column) for column in zip(*samples, strict=True))
    exchanges = collectives(parse(programs[0].as_text()))
    return {
        "devices": devices.count,
        "seconds": with_sum,
        "share": max(0.0, 1 - without / with_sum),
        "bytes": sum(exchange.times * exchange.bytes for exchange in exchanges),
    }


def tables(content: dict[str, Any]) -> list[Table]:
    """The table of what `measure` returns; its first row is that of one device."""
    rows = content["scaling"]
    title = f"a step of the {SIZE} Transformer, {SIZES[SIZE].rows} rows, on virtual CPU devices"
    figures = ("ms a step", "times as fast", "in collectives", "MiB added up")
    drawn = plain_table(["devices"], figures, title)
    for row in rows:
        drawn.add_row(
            str(row["devices"]),
            f"{1e3 * row['seconds']:,.0f}",
            f"{rows[0]['seconds'] / row['seconds']:.2f}",
            f"{row['share']:.0%}",
            f"{row['bytes'] / 2**20:,.1f}",
        )
    return [drawn]


if __name__ == "__main__":
    print(json.dumps(step_times(SIZES[SIZE])))
