"""The output of `attnjax rehearse`: what a training step does on one of the chips."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from attnjax.rehearsal import Rehearsal


def rehearsed(found: Rehearsal) -> Iterator[RenderableType]:
    """A line about the chips and the batch, a table for one chip, and the verdict."""
    chip, precision = found.on.chip, found.precision
    peak = chip.flops(precision) / 1e12
    yield Text(
        f"{found.on.name}: {found.on.count} x {chip.name}, each {peak:.0f} TFLOP/s in {precision}, "
        f"{chip.bandwidth / 1e9:,.0f} GB/s to {_bytes(chip.memory)}, "
        f"{chip.links / 1e9:.0f} GB/s to other chips"
    )
    rows = found.batch.target.shape[0]
    sides = " and ".join(
        f"{' x '.join(map(str, side.shape))} {name}"
        for name, side in zip(("source", "target"), found.batch, strict=True)
    )
    yield Text(f"batch: {sides}; {rows // found.on.count} rows a chip")
    drawn = Table("a step on one chip", "", "", box=None, pad_edge=False)
    drawn.columns[1].justify = drawn.columns[2].justify = "right"
    drawn.add_row("arguments", _bytes(found.arguments), "")
    drawn.add_row("temporaries", _bytes(found.temporaries), "")
    drawn.add_row("matrix products", f"{found.flops / 1e12:.3g} TFLOP", _time(found, "arithmetic"))
    drawn.add_row("memory traffic", _bytes(found.traffic), _time(found, "memory"))
    for kind, number, size, seconds in _exchanges(found):
        drawn.add_row(f"{number} {kind}", _bytes(size), f"{1e3 * seconds:.2f} ms")
    yield drawn
    needed = found.arguments + found.temporaries
    fits = "fits" if found.fits else "does not fit"
    yield Text(f"memory: {_bytes(needed)} of {_bytes(chip.memory)}: {fits}")
    times = found.seconds
    least, arithmetic = times[found.binds], times["arithmetic"]
    ratio = f", {least / arithmetic:.2f} times the arithmetic's" if arithmetic else ""
    yield Text(f"roofline: at least {1e3 * least:.2f} ms a step{ratio}; {found.binds} binds")
    for sentence in found.kernels:
        yield Text(f"kernels: {sentence}")
    yield Text(f"compiled in {found.compile_seconds:.0f} s")


def _exchanges(found: Rehearsal) -> Iterator[tuple[str, int, int, float]]:
    """The exchanges of each kind: kind, number in a step, bytes, seconds."""
    for kind in dict.fromkeys(one.kind for one in found.collectives):
        alike = [one for one in found.collectives if one.kind == kind]
        yield (
            kind,
            sum(one.times for one in alike),
            sum(one.times * one.bytes for one in alike),
            sum(found.link_seconds(one) for one in alike),
        )


def _time(found: Rehearsal, side: str) -> str:
    return f"{1e3 * found.seconds[side]:.2f} ms"


def _bytes(number: float) -> str:
    """A number of bytes in MiB or GiB."""
    return f"{number / 2**30:.2f} GiB" if number >= 2**30 else f"{number / 2**20:.1f} MiB"
