"""Alignment errors counted by hand."""

import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import TabSeparated
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.alignment import Alignment, corpus_alignment_error
from tests.evaluation.measures.unbatched import alone

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
        corpus_alignment_error([(np.eye(2), (frozenset({0}),) * 3)])


@pytest.mark.long
def test_the_alignment_is_the_last_layers_over_all_heads(inputs):
    examples = inputs.corpus.splits["test"]
    pairs = []
    for index, example in enumerate(examples):
        seen = alone(inputs, index)["decoder_layers_1"]["cross_attention"]["head"]
        pairs.append((np.asarray(seen["weights"][0])[0].mean(0), example.alignment))
    (measured,) = Alignment().after_training(inputs)
    error = corpus_alignment_error(pairs)
    assert measured == Measurement(MetricKey("alignment_error"), error, "lower")
    assert 0 < error < 1


def test_a_sentence_too_long_to_be_trained_on_is_looked_at(inputs):
    narrow = inputs._replace(batching=Batching(max_tokens=4, batch_size_multiple=2))
    assert Alignment().after_training(narrow) == Alignment().after_training(inputs)


def test_a_corpus_without_gold_alignments_is_refused_early(inputs, tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.tsv").write_text("a\tb\n")
    corpus = TabSeparated(folder=str(tmp_path), valid=None).load()
    with pytest.raises(UserError, match="gold alignments; the corpus has none"):
        Alignment().check(inputs.model, corpus)
