"""Alignment errors counted by hand."""

import numpy as np
import pytest

from attnjax.errors import UserError
from attnjax.evaluation.measures.alignment import alignment_counts, corpus_alignment_error

WEIGHTS = np.asarray(
    [
        [0.7, 0.2, 0.1, 0.0],  # looks at 0: gold
        [0.1, 0.3, 0.6, 0.0],  # looks at 2: one of two golds
        [0.5, 0.4, 0.1, 0.0],  # looks at 0, gold is 1
        [0.0, 0.0, 1.0, 0.0],  # no gold: not counted
        [0.0, 0.0, 0.0, 0.0],  # looks nowhere, gold is 0
        [0.9, 0.1, 0.0, 0.0],  # padding beyond the target
    ]
)
GOLD = (frozenset({0}), frozenset({0, 2}), frozenset({1}), frozenset(), frozenset({0}))


def test_links_are_counted():
    assert alignment_counts(WEIGHTS, GOLD) == (2, 4)
    assert corpus_alignment_error([(WEIGHTS, GOLD)]) == 0.5


def test_a_corpus_weighs_links_not_sentences():
    right = np.eye(2), (frozenset({0}), frozenset({1}))
    unknown = np.eye(2), (frozenset(), frozenset())
    assert corpus_alignment_error([(WEIGHTS, GOLD), right, unknown]) == pytest.approx(2 / 6)


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(UserError, match="no target token has one"):
        corpus_alignment_error([(np.eye(2), (frozenset(), frozenset()))])
    with pytest.raises(UserError, match="gold"):
        corpus_alignment_error([])
    with pytest.raises(ValueError, match=r"3 target tokens.*\[2, 2\]"):
        alignment_counts(np.eye(2), (frozenset({0}),) * 3)
