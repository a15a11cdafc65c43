"""What the runs of a variant cost: from the summary, and from the runs' logs."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from attnjax.reporting.evidence import count
from attnjax.reporting.number import MISSING, number
from attnjax.reporting.runs import curve
from attnjax.results.summary import Row


def costs(row: Row, runs: Sequence[Path]) -> dict[str, str]:
    """The costs of a variant, in words, by the headings of their columns."""
    cost, logs = row.cost, [curve(run) for run in runs]
    sizes = dict(cost.examples) if cost else {}
    speeds, memory = _values(logs, "tokens per second"), _values(logs, "memory")
    return {
        "parameters": count(row.parameters),
        "examples train / valid / test": " / ".join(
            count(sizes.get(split)) for split in ("train", "valid", "test")
        ),
        "largest batch B × S × T": " × ".join(map(str, cost.shape)) if cost else MISSING,
        "tokens a step": count(cost.tokens or None) if cost else MISSING,
        "FLOPs a step": number(cost.flops, 3) if cost else MISSING,
        "steps": count(cost.steps) if cost else MISSING,
        "seconds a seed": count(row.seconds / len(row.seeds)),
        "tokens/s a seed": count(statistics.median(speeds) if speeds else None),
        "peak memory": f"{max(memory) / 2**20:,.0f} MiB" if memory else MISSING,
    }


def _values(logs: Sequence[Mapping[str, Sequence[tuple[int, float]]]], name: str) -> list[float]:
    return [
        value
        for log in logs
        for of, points in log.items()
        if of.startswith("train ") and of.endswith(name)
        for _, value in points
    ]
