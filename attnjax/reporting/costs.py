"""What the runs of a variant cost: from the summary, and from the runs' logs."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attnjax.reporting.evidence import count
from attnjax.reporting.number import MISSING, number
from attnjax.reporting.runs import curve
from attnjax.reporting.summary import Summary

COLUMNS = (
    "parameters",
    "examples train / valid / test",
    "largest batch B × S × T",
    "tokens a step",
    "FLOPs a step",
    "steps",
    "seconds a seed",
    "tokens/s a seed",
    "peak memory",
)


def costs(
    summary: Summary, runs: Mapping[str, Sequence[Path]]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Each variant with its costs, in the order of COLUMNS."""
    for row in summary.rows:
        sizes = dict(row.cost.examples) if row.cost else {}
        step = [MISSING] * 4
        if row.cost:
            cost, shape = row.cost, " × ".join(map(str, row.cost.shape))
            step = [shape, count(cost.tokens or None), number(cost.flops, 3), count(cost.steps)]
        logs = [curve(run) for run in runs[row.variant]]
        speeds, memory = _values(logs, "tokens per second"), _values(logs, "memory")
        yield (
            row.variant,
            [
                count(row.parameters),
                " / ".join(count(sizes.get(split)) for split in ("train", "valid", "test")),
                *step,
                count(row.seconds / len(row.seeds)),
                count(statistics.median(speeds) if speeds else None),
                f"{max(memory) / 2**20:,.0f} MiB" if memory else MISSING,
            ],
        )


def _values(logs: Sequence[Mapping[str, Sequence[tuple[int, float]]]], name: str) -> list[float]:
    """The values of all curves of training whose names end like this."""
    return [
        value
        for log in logs
        for of, points in log.items()
        if of.startswith("train ") and of.endswith(name)
        for _, value in points
    ]
