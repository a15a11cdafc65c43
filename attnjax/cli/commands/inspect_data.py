"""`attnjax data inspect`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from attnjax.cli.chosen import ChosenExperiment, Variant
from attnjax.cli.command import count
from attnjax.cli.output import out, say
from attnjax.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from attnjax.data import (
        Batch,
        Batching,
        Corpus,
        Examples,
        PackedBatch,
        Vocabularies,
        Vocabulary,
    )


def inspect_data(
    chosen: ChosenExperiment,
    *,
    variant: Variant = None,
    rows: Annotated[int, count("rows of the first batch; default: 2", most=1_000)] = 2,
) -> None:
    """Print training examples as the model sees them, and the padding of batches."""
    from attnjax.data.loaded import Corpora

    experiment = chosen.with_overrides(chosen.load().ablation, variant)
    corpus = Corpora(say).of(experiment.task)
    experiment.resolve(corpus).recipe.check(corpus)
    for part in _inspected(corpus, experiment.training.batching, rows):
        out().print(part)


def _inspected(corpus: "Corpus", batching: "Batching", rows: int) -> Iterator[RenderableType]:
    yield _lengths(corpus)
    yield _padding(corpus.splits["train"], batching)
    batch = batching.plan(corpus.splits["train"]).batch(0, 0)
    for row in range(min(rows, len(batch.source))):
        yield Text(f"row {row + 1} of the first batch with seed 0")
        yield _row(batch, row, corpus.vocabularies)


def _lengths(corpus: "Corpus") -> Table:
    """The lengths of every split, END counted."""
    import numpy as np

    drawn = Table("split", "side", box=None, pad_edge=False)
    for title in ("examples", "symbols", "median", "95 %", "longest", "mean"):
        drawn.add_column(title, justify="right")
    for name, examples in corpus.splits.items():
        for side, lengths in zip(("source", "target"), examples.lengths.T, strict=True):
            shares = np.quantile(lengths, (0.5, 0.95, 1))
            numbers = (f"{number:,.0f}" for number in (len(lengths), lengths.sum(), *shares))
            drawn.add_row(name, side, *numbers, f"{lengths.mean():.1f}")
    return drawn


def _padding(examples: "Examples", batching: "Batching") -> Table:
    """The batches of an epoch, as they are, bucketed and packed."""
    from attnjax.data import Batching, Packed

    size, longest = batching.max_tokens, int(examples.lengths.max())
    ways = {
        "training.batching": batching,
        "bucketed": Batching(max_tokens=size, shapes=16),
        "packed": Packed(max_tokens=max(size, 8 * longest), length=longest),
    }
    drawn = Table("batches", "number", "padding", "shapes [B, S, T]", box=None, pad_edge=False)
    for name, way in ways.items():
        try:
            plan = way.plan(examples)
        except UserError as error:
            drawn.add_row(name, "", "", str(error))
            continue
        shapes = " ".join(str([*shape]) for shape in plan.shapes)
        drawn.add_row(name, f"{plan.per_epoch:,} an epoch", f"{plan.padding:.1%}", shapes)
    return drawn


def _row(batch: "Batch | PackedBatch", row: int, vocabularies: "Vocabularies") -> Table:
    """A row of a batch, place by place; the padding behind it in one line."""
    from attnjax.data.vocabularies import SIDES

    drawn, sides = Table("place", box=None, pad_edge=False), []
    for name, vocabulary in zip(SIDES, vocabularies, strict=True):
        sentences = getattr(batch, f"{name}_sentence", None)
        for title in (name, "id") + (() if sentences is None else ("sentence",)):
            drawn.add_column(title)
        numbers = None if sentences is None else sentences[row]
        sides.append(_places(getattr(batch, name)[row], vocabulary, numbers))
    for place in range(max(map(len, sides))):
        cells = [side[place] if place < len(side) else [""] * len(side[0]) for side in sides]
        drawn.add_row(str(place), *(Text(cell) for side in cells for cell in side))
    return drawn


def _places(
    row: "np.ndarray", vocabulary: "Vocabulary | None", sentences: "np.ndarray | None"
) -> list[list[str]]:
    """Piece, id and, if rows are packed, sentence of each place of a side."""
    from attnjax.data.special_tokens import PAD

    if vocabulary is None:
        return [[f"numbers {[*row.shape]}", ""]]
    ids = row[: (row != PAD).sum()]
    cells = [[piece, str(i)] for piece, i in zip(vocabulary.tokens(ids), ids, strict=True)]
    if left := len(row) - len(ids):
        cells.append([f"{vocabulary.pieces[PAD]} x {left}", str(PAD)])
    if sentences is None:
        return cells
    return [[*cell, str(number)] for cell, number in zip(cells, sentences, strict=False)]
