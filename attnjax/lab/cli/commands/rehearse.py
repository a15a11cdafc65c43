"""`attnjax rehearse`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from rich.console import RenderableType
from rich.text import Text

from attnjax.config.console import plain_table
from attnjax.errors import NoCorpus, UserError
from attnjax.lab.cli.chosen import ChosenExperiment, Variant
from attnjax.lab.cli.command import count, option
from attnjax.lab.cli.output import out

if TYPE_CHECKING:
    from attnjax.lab.rehearsal import Rehearsal


def rehearse(
    chosen: ChosenExperiment,
    *,
    on: Annotated[str, option("such as v5e:2x4, v5p:4x4x4 or h100:8", "CHIPS")],
    variant: Variant = None,
    vocabulary: Annotated[
        int | None, count("without data: the number of words of source and target", most=10**7)
    ] = None,
    length: Annotated[
        int | None, count("without data: the length of all sentences of the batch", most=10**6)
    ] = None,
) -> int:
    """Compile a training step for TPUs or GPUs that are not here, and print its costs there.

    The exit code is 1 if the step does not fit into the memory of a chip.
    """
    if (vocabulary is None) != (length is None):
        raise UserError("--vocabulary and --length go together")
    import jax

    from attnjax.lab.rehearsal import Topology, rehearse
    from attnjax.lab.sweeps.costs import batch_of_text, largest_batch

    # nothing is computed: no chip of this machine is needed or waited for
    jax.config.update("jax_platforms", "cpu")
    # JAX cannot read such a program from its cache again, and would warn that it cannot
    jax.config.update("jax_enable_compilation_cache", False)
    chips = Topology.named(on)
    experiment = chosen.with_overrides(chosen.load().ablation, variant)
    recipe, batching = experiment.recipe, experiment.training.batching
    if vocabulary is not None and length is not None:
        recipe = replace(recipe, model=recipe.model.with_vocabularies(vocabulary, vocabulary))
        batch = batch_of_text(batching.batch_size_of(length), length)
    else:
        try:
            corpus = experiment.task.load()
        except NoCorpus as error:
            raise UserError(
                f"{error}; --vocabulary 37000 --length 64 rehearses on a batch of sentences of "
                "this length, without data"
            ) from error
        recipe = experiment.resolve(corpus).recipe
        batch = largest_batch(batching.plan(corpus.splits["train"]))
    rehearsal = rehearse(recipe, batch, chips)
    for part in lines(rehearsal):
        out().print(part)
    return int(not rehearsal.fits)


def lines(rehearsal: "Rehearsal") -> Iterator[RenderableType]:
    """Yield a line about the chips and the batch, a table for one chip, and the verdict."""
    chip, precision = rehearsal.on.chip, rehearsal.precision
    peak = chip.flops(precision) / 1e12
    yield Text(
        f"{rehearsal.on.name}: {rehearsal.on.count} x {chip.name}, "
        f"each {peak:.0f} TFLOP/s in {precision}, "
        f"{chip.bandwidth / 1e9:,.0f} GB/s to {_bytes(chip.memory)}, "
        f"{chip.interconnect / 1e9:.0f} GB/s to other chips"
    )
    rows = rehearsal.batch.target.shape[0]
    sides = " and ".join(
        f"{' x '.join(map(str, side.shape))} {name}"
        for name, side in zip(("source", "target"), rehearsal.batch, strict=True)
    )
    yield Text(f"batch: {sides}; {rows // rehearsal.on.count} rows a chip")
    times = {side: f"{1e3 * seconds:.2f} ms" for side, seconds in rehearsal.seconds.items()}
    products = f"{rehearsal.flops / 1e12:.3g} TFLOP"
    drawn = plain_table(["a step on one chip"], ["", ""])
    drawn.add_row("arguments", _bytes(rehearsal.arguments), "")
    drawn.add_row("temporaries", _bytes(rehearsal.temporaries), "")
    drawn.add_row("matrix products", products, times["compute"])
    drawn.add_row("memory traffic", _bytes(rehearsal.traffic), times["memory"])
    for kind in dict.fromkeys(collective.kind for collective in rehearsal.collectives):
        alike = [collective for collective in rehearsal.collectives if collective.kind == kind]
        number = sum(collective.times for collective in alike)
        size = sum(collective.times * collective.bytes for collective in alike)
        seconds = sum(map(rehearsal.exchange_seconds, alike))
        drawn.add_row(f"{number} {kind}", _bytes(size), f"{1e3 * seconds:.2f} ms")
    yield drawn
    needed = rehearsal.arguments + rehearsal.temporaries
    fits = "fits" if rehearsal.fits else "does not fit"
    yield Text(f"memory: {_bytes(needed)} of {_bytes(chip.memory)}: {fits}")
    bound = rehearsal.bottleneck
    least, compute = rehearsal.seconds[bound], rehearsal.seconds["compute"]
    ratio = f", {least / compute:.2f} times the compute time" if compute else ""
    yield Text(f"roofline: at least {1e3 * least:.2f} ms a step{ratio}; {bound}-bound")
    for sentence in rehearsal.kernels:
        yield Text(f"kernels: {sentence}")
    yield Text(f"compiled in {rehearsal.compile_seconds:.0f} s")


def _bytes(number: float) -> str:
    """Format a number of bytes in MiB or GiB."""
    return f"{number / 2**30:.2f} GiB" if number >= 2**30 else f"{number / 2**20:.1f} MiB"
