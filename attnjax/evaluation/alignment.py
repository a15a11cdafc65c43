"""Whether attention looks where the translation comes from."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from attnjax.errors import UserError


def alignment_counts(weights: Any, alignment: Sequence[frozenset[int]]) -> tuple[int, int]:
    """Of one sentence: how many links are wrong, and how many there are.

    Every target token with a gold set is linked to its strongest source position (the first of
    equals; a row of zeros is a wrong link). A link is wrong when it lies outside the set.

    Args:
        weights: [T, S], a row a target token; rows and columns beyond the sentence are padding.
        alignment: for each target token the source positions it comes from; empty: none is known.

    Raises:
        ValueError: when weights is no matrix, or has no row for a target token.
    """
    weights = np.asarray(weights, np.float32)
    if weights.ndim != 2 or len(weights) < len(alignment):
        raise ValueError(
            f"weights [T, S] with a row for each of {len(alignment)} target tokens were wanted; "
            f"got shape {list(weights.shape)}"
        )
    wrong = linked = 0
    for row, gold in zip(weights, alignment, strict=False):
        if gold:
            linked += 1
            wrong += int(row.argmax()) not in gold or row.max() <= 0
    return wrong, linked


def alignment_error(weights: Any, alignment: Sequence[frozenset[int]]) -> float:
    """The share of one sentence's links that are wrong: `corpus_alignment_error` of it alone."""
    return corpus_alignment_error([(weights, alignment)])


def corpus_alignment_error(pairs: Iterable[tuple[Any, Sequence[frozenset[int]]]]) -> float:
    """The share of wrong links among those of all sentences, in [0, 1].

        AER = 1 - (|A & S| + |A & P|) / (|A| + |S|) = 1 - |A & P| / |A|   for no sure links S

    A are the links made, one a target token with a gold set P: the gold links are possible ones.

    Args:
        pairs: for each sentence its weights [T, S] and its alignment, as `alignment_counts` takes.

    Raises:
        UserError: when no target token has a gold set.

    Source: Och & Ney 2003 (alignment error rate).
    """
    counts = np.asarray([alignment_counts(*pair) for pair in pairs]).reshape(-1, 2)
    wrong, linked = counts.sum(0)
    if not linked:
        raise UserError("an alignment error needs gold alignments; no target token has one")
    return float(wrong / linked)
