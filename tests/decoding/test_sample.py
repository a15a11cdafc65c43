"""Sampling against the exact distribution of whole hypotheses, and against greedy search."""

import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from attnjax.config.constraints import check_fields
from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.generate import generate
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.sample import Sample
from attnjax.errors import UserError
from attnjax.models.transformer import Transformer
from tests import jitted
from tests.decoding.test_search import (
    LENGTH,
    VOCABULARY,
    WORDS,
    found,
    hashed,
    log_probability,
    run,
    tables,
    words,
)


def distribution(logits: np.ndarray, search: Sample) -> np.ndarray:
    """The probability of each word, by the definition, in float64."""
    scaled = np.asarray(logits, np.float64) / search.temperature
    scaled[[PAD, START]] = -np.inf
    probability = np.exp(scaled - np.logaddexp.reduce(scaled))
    kept: list[int] = []
    for word in np.argsort(-probability):
        if len(kept) == (search.top_k or VOCABULARY):
            break
        total = probability[np.argsort(-probability)[: search.top_k]].sum()
        if kept and probability[kept].sum() / total >= search.top_p:
            break
        kept.append(int(word))
    found = np.zeros_like(probability)
    found[kept] = probability[kept] / probability[kept].sum()
    return found


@pytest.mark.parametrize(
    "search",
    [
        Sample(),
        Sample(temperature=0.5),
        Sample(top_k=2),
        Sample(top_p=0.7),
        Sample(temperature=1.7, top_k=3, top_p=0.8),
    ],
    ids=repr,
)
def test_hypotheses_are_drawn_with_their_probabilities(search: Sample):
    """All hypotheses of at most two words, and END: the third word is END by the limit."""
    sentences, draws, limit = 4, 1000, 3
    table = tables(1, seed=11, sharpness=1.0)
    search = Sample(**{**vars(search), "size": draws})
    found = run(search, np.repeat(table, sentences, axis=0), [limit] * sentences)
    counts = Counter(tuple(words(row)) for row in found.tokens.reshape(-1, LENGTH))

    expected = {}
    for count in range(limit):
        for hypothesis in itertools.product(WORDS, repeat=count):
            chance, history = 1.0, [START]
            for word in (*hypothesis, END):
                last = len(history) == limit
                chance *= last or distribution(table[0, hashed(history)], search)[word]
                history.append(word)
            if chance > 0:
                expected[*hypothesis, END] = chance * sentences * draws
    assert sum(expected.values()) == pytest.approx(sentences * draws)
    assert counts.keys() <= expected.keys()
    # those that hardly come are counted as one
    rare = {hypothesis for hypothesis, number in expected.items() if number < 10}
    pairs = [(counts[one], expected[one]) for one in expected.keys() - rare]
    pairs.append((sum(counts[one] for one in rare), sum(expected[one] for one in rare)))
    observed, wanted = np.array([pair for pair in pairs if pair[1] > 0]).T
    assert chisquare(observed, wanted).pvalue > 0.01


@pytest.mark.parametrize(
    "search", [Sample(top_k=1), Sample(top_p=1e-9), Sample(temperature=1e-30)], ids=repr
)
def test_the_most_probable_word_alone_is_greedy_search(search: Sample):
    limits = [0, 1, 3] + [5] * 20
    table = tables(len(limits), seed=7)
    greedy, sampled = run(Greedy(), table, limits), run(search, table, limits)
    np.testing.assert_array_equal(sampled.tokens, greedy.tokens)
    np.testing.assert_allclose(sampled.scores, greedy.scores, rtol=1e-5)


def test_a_score_is_the_models_own_log_probability_and_the_best_comes_first():
    limits = [5, 4, 2]
    table = tables(len(limits), seed=2, sharpness=1.0)
    sampled = run(Sample(temperature=0.7, top_k=3, size=6), table, limits)
    for sentence in range(len(limits)):
        wanted = [log_probability(table[sentence], words(row)) for row in sampled.tokens[sentence]]
        np.testing.assert_allclose(sampled.scores[sentence], wanted, atol=2e-5)
        assert wanted == sorted(wanted, reverse=True)
        assert len({tuple(row) for row in sampled.tokens[sentence].tolist()}) > 1


def test_draws_depend_on_the_seed_and_the_number_alone():
    limits = jnp.asarray([5, 3, 0, 4, 5, 1])
    table = np.repeat(tables(1, seed=3, sharpness=0.5), len(limits), axis=0)
    one, again, other = (
        np.asarray(found(Sample(seed=seed), table, limits).tokens) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
    # equal sentences of other numbers are other draws
    assert (one[0] != one[4]).any()


def test_a_draw_is_of_the_sentences_number_in_whatever_row():
    search, limit = Sample(size=20), np.array([5, 5])
    logits = np.zeros((2, 20, VOCABULARY), np.float32)

    @jax.jit
    def last(numbers):
        state = search.init(jnp.asarray(limit), LENGTH, numbers)
        return search.advance(state, jnp.asarray(logits), jnp.int32(0))[0].last

    def drawn(*numbers: int) -> np.ndarray:
        return np.asarray(last(np.array(numbers)))

    np.testing.assert_array_equal(drawn(40, 41), drawn(41, 40)[::-1])
    assert (drawn(40, 41) != drawn(0, 1)).any(1).all()


@pytest.mark.long
def test_a_sentence_is_drawn_alike_with_and_without_neighbors():
    model = Transformer(vocabulary=11, width=8, num_encoder_layers=1, num_decoder_layers=1)
    source = jnp.asarray([[5, 6, 7, 4, END], [8, END, PAD, PAD, PAD], [4, 9, END, PAD, PAD]])
    params = jitted.init(model, jax.random.key(1), source, source, deterministic=True)["params"]
    search, numbers = Sample(size=2, temperature=2.0, seed=5), np.array([40, 41, 42])
    together = generate(model, params, source, search, number=numbers, extra=20)
    alone = generate(model, params, source[1:2, :2], search, number=numbers[1:2], extra=20)
    length = alone.tokens.shape[-1]
    np.testing.assert_array_equal(together.tokens[1, :, :length], alone.tokens[0])
    np.testing.assert_allclose(together.scores[1], alone.scores[0], rtol=1e-5)
    moved = generate(model, params, source[1:2, :2], search, number=numbers[:1], extra=20)
    assert (moved.tokens != alone.tokens).any()


def test_mistakes():
    table, limit = tables(1), jnp.asarray([2])
    # more words than there are is all of them
    everything = np.asarray(found(Sample(top_k=100), table, limit).tokens)
    np.testing.assert_array_equal(everything, found(Sample(top_k=VOCABULARY), table, limit).tokens)
    with pytest.raises(UserError, match=r"top_p: wanted float above 0 and at most 1; got float 0"):
        check_fields(Sample(top_p=0.0))
    with pytest.raises(UserError, match="temperature: wanted float above 0"):
        check_fields(Sample(temperature=0.0))
