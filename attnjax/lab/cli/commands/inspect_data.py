"""`attnjax data inspect`."""

from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

from rich.table import Table
from rich.text import Text

from attnjax.config.console import plain_table
from attnjax.errors import UserError
from attnjax.lab.cli.chosen import ChosenExperiment, Variant
from attnjax.lab.cli.command import count
from attnjax.lab.cli.output import out, say

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
    examples, batching = corpus.splits["train"], experiment.training.batching
    out().print(_lengths(corpus))
    out().print(_padding(examples, batching))
    batch = batching.plan(examples).batch(0, 0)
    for row in range(min(rows, len(batch.source))):
        out().print(Text(f"row {row + 1} of the first batch with seed 0"))
        out().print(_row(batch, row, corpus.vocabularies))


def _lengths(corpus: "Corpus") -> Table:
    """Return a table of the lengths in every split, END included."""
    import numpy as np

    figures = ("examples", "symbols", "median", "95 %", "longest", "mean")
    drawn = plain_table(["split", "side"], figures)
    for name, examples in corpus.splits.items():
        for side, lengths in zip(("source", "target"), examples.lengths.T, strict=True):
            shares = np.quantile(lengths, (0.5, 0.95, 1))
            numbers = (f"{number:,.0f}" for number in (len(lengths), lengths.sum(), *shares))
            drawn.add_row(name, side, *numbers, f"{lengths.mean():.1f}")
    return drawn


def _padding(examples: "Examples", batching: "Batching") -> Table:
    """Return a table of an epoch's batches: as configured, bucketed and packed."""
    from attnjax.data import Batching, Packed

    size, longest = batching.max_tokens, int(examples.lengths.max())
    ways = {
        "training.batching": batching,
        "bucketed": Batching(max_tokens=size, shapes=16),
        "packed": Packed(max_tokens=max(size, 8 * longest), length=longest),
    }
    drawn = plain_table(["batches", "number", "padding", "shapes [B, S, T]"])
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
    """Return a table of a batch's row, a line a position; the padding after it in one line."""
    from attnjax.data.special_tokens import PAD
    from attnjax.data.vocabularies import SIDES

    columns: list[tuple[str, list[str]]] = []
    for name, vocabulary in zip(SIDES, vocabularies, strict=True):
        ids = getattr(batch, name)[row]
        if vocabulary is None:
            columns += [(name, [f"numbers {[*ids.shape]}"]), ("id", [])]
            continue
        if ids.ndim == 2:
            columns += _labels(ids, vocabulary)
            continue
        words = ids[: (ids != PAD).sum()]
        pieces, numbers = [*vocabulary.tokens(words)], [*map(str, words)]
        if left := len(ids) - len(words):
            pieces.append(f"{vocabulary.pieces[PAD]} x {left}")
            numbers.append(str(PAD))
        columns += [(name, pieces), ("id", numbers)]
        if (sentences := getattr(batch, f"{name}_sentence", None)) is not None:
            columns.append(("sentence", [*map(str, sentences[row][: len(pieces)])]))
    drawn = plain_table(["position", *(title for title, _ in columns)])
    positions = zip_longest(*(cells for _, cells in columns), fillvalue="")
    for position, cells in enumerate(positions):
        drawn.add_row(str(position), *map(Text, cells))
    return drawn


def _labels(asked: "np.ndarray", vocabulary: "Vocabulary") -> list[tuple[str, list[str]]]:
    """Return the columns of labels [K, 2], each in the line of its place."""
    from attnjax.data.special_tokens import PAD

    labels = {place: label for place, label in asked.tolist() if label != PAD}
    lines = [labels.get(place) for place in range(max(labels, default=-1) + 1)]
    pieces = ["" if label is None else vocabulary.pieces[label] for label in lines]
    return [("label", pieces), ("id", ["" if label is None else str(label) for label in lines])]
