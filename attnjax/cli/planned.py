"""The output of `attnjax run --dry-run`: a row for each variant, and the total."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from attnjax.reporting.number import MISSING
from attnjax.runs.dry_run import PlannedVariant

NUMBERS = ("steps", "parameters", "FLOPs a step", "tokens a step", "time left")


def planned(variants: Sequence[PlannedVariant]) -> Iterator[RenderableType]:
    """The table of the variants, and a line with the number of runs and the time of all."""
    drawn = Table("variant", "runs", box=None, pad_edge=False)
    for name in NUMBERS:
        drawn.add_column(name, justify="right")
    for one in variants:
        costs = [MISSING] * 3
        if one.costs is not None:
            numbers = one.costs.parameters, one.costs.flops, one.costs.tokens
            costs = [f"{numbers[0]:,}", f"{numbers[1]:.3g}", f"{numbers[2]:,.0f}"]
        drawn.add_row(
            Text(one.name), Text(_runs(one)), f"{one.steps:,}", *costs, _time(one.seconds)
        )
    yield drawn
    left = sum(
        len(one.running) + len(one.failed) + len(one.started) + len(one.missing) + one.untuned
        for one in variants
    )
    total = left + sum(len(one.done) + one.points - one.untuned for one in variants)
    seconds = sum(one.seconds or 0 for one in variants)
    unknown = [one.name for one in variants if one.seconds is None]
    line = f"{left} of {total} runs are to be trained"
    if seconds:
        line += f", in about {_time(seconds)} without decoding"
    if unknown:
        which = "" if len(unknown) == len(variants) else f" of {', '.join(unknown)}"
        line += f"; the time{which} is unknown, because no such run was trained here"
    yield Text(line)


def _runs(one: PlannedVariant) -> str:
    """The states of a variant's runs, in words."""
    words = []
    if one.untuned:
        words.append(f"to tune: {one.untuned} of {one.points} points")
    if one.done:
        words.append(f"done: {_seeds(one.done)}")
    words += [f"running: {seed}, by {who}" for seed, who in one.running.items()]
    words += [f"interrupted at step {step}: {seed}" for seed, step in one.started.items()]
    words += [f"failed: {seed}, because: {why}" for seed, why in one.failed.items()]
    if one.missing:
        words.append(f"missing: {_seeds(one.missing)}")
    if one.failure:
        words.append(f"tuning failed because: {one.failure}")
    return "\n".join(words)


def _seeds(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))


def _time(seconds: float | None) -> str:
    """A time in words; a dash for None."""
    if seconds is None:
        return MISSING
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
