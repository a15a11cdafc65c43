"""Searches against enumeration and against a second implementation, over a decoder of tables."""

import functools
import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.beam import Beam
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.length_penalty import GNMT, LengthPenalty, NoPenalty, Power
from attnjax.decoding.search import Search, pick
from attnjax.errors import UserError

VOCABULARY = 6
LENGTH = 5
ROWS = 997
WORDS = [w for w in range(VOCABULARY) if w not in (PAD, START, END)]


def tables(sentences: int, seed: int = 0, sharpness: float = 2.0) -> np.ndarray:
    """A row of logits for every history's hash, of every sentence."""
    generator = np.random.default_rng(seed)
    return sharpness * generator.normal(size=(sentences, ROWS, VOCABULARY)).astype(np.float32)


def hashed(history) -> int:
    value = 0
    for token in history:
        value = (value * 31 + int(token) + 1) % ROWS
    return value


def log_probability(table, tokens) -> float:
    """The teacher-forced log-probability of a hypothesis, END included, of one sentence."""
    given, total = [START], 0.0
    for token in tokens:
        logits = np.asarray(table[hashed(given)], np.float64)
        total += logits[token] - np.logaddexp.reduce(logits)
        given.append(token)
    return total


DIVISORS = {
    NoPenalty(): lambda length: 1.0,
    Power(alpha=1.0): lambda length: float(length),
    Power(alpha=0.3): lambda length: length**0.3,
    GNMT(alpha=0.6): lambda length: ((5 + length) / 6) ** 0.6,
}


class Found(NamedTuple):
    tokens: np.ndarray
    scores: np.ndarray


@functools.partial(jax.jit, static_argnames="search")
def found(search: Search, table, limit):
    """The search as one loop; what a hypothesis carries is the hash of its words."""

    def onwards(loop):
        place, value, state = loop
        value = (value * 31 + state.last + 1) % ROWS
        logits = jnp.take_along_axis(table, value[..., None], axis=1)
        state, parent = search.advance(state, logits, place)
        return place + 1, pick(value, parent), state

    value = jnp.zeros((len(limit), search.width), jnp.int32)
    loop = jnp.int32(0), value, search.init(limit, LENGTH, jnp.arange(len(limit)))
    *_, state = jax.lax.while_loop(lambda loop: loop[-1].active.any(), onwards, loop)
    return search.finalize(state)


def run(search: Search, table, limit) -> Found:
    tokens, scores = found(search, table, jnp.asarray(limit))
    assert tokens.dtype == jnp.int32
    assert scores.dtype == jnp.float32
    return Found(np.asarray(tokens), np.asarray(scores))


def words(row) -> list[int]:
    """Up to END, which has to be there with nothing but PAD after it."""
    row = row.tolist()
    end = row.index(END)
    assert row[end + 1 :] == [PAD] * (len(row) - end - 1)
    return row[: end + 1]


@pytest.mark.parametrize(
    "length_penalty",
    [
        pytest.param(one, id=repr(one), marks=pytest.mark.long if isinstance(one, Power) else [])
        for one in DIVISORS
    ],
)
def test_beam_that_holds_everything_is_exhaustive(length_penalty: LengthPenalty):
    limits = [4, 5, 2]
    table = tables(len(limits))
    space = {
        n: [(*w, END) for k in range(n) for w in itertools.product(WORDS, repeat=k)] for n in limits
    }
    found = run(Beam(size=len(space[5]), length_penalty=length_penalty), table, limits)
    for sentence, limit in enumerate(limits):
        scored = sorted(
            (log_probability(table[sentence], y) / DIVISORS[length_penalty](len(y)), y)
            for y in space[limit]
        )[::-1]
        assert words(found.tokens[sentence, 0]) == list(scored[0][1])
        # not the best alone: every hypothesis there is, once, in order; then nothing
        np.testing.assert_allclose(
            found.scores[sentence, : len(scored)], [score for score, _ in scored], atol=2e-5
        )
        assert np.isneginf(found.scores[sentence, len(scored) :]).all()
        assert (found.tokens[sentence, len(scored) :] == PAD).all()


def fairseq(table, size: int, limit: int, divisor, least: int = 0) -> list[tuple[float, list[int]]]:
    """The rules of Beam's docstring, in lists, for one sentence."""
    live, finished = [(0.0, [])], []
    for place in range(limit):
        candidates = []
        for total, tokens in live:
            logits = np.asarray(table[hashed([START, *tokens])], np.float64)
            ends = [END] if place >= least or place + 1 == limit else []
            for word in ends if place + 1 == limit else [*ends, *WORDS]:
                gain = logits[word] - np.logaddexp.reduce(logits)
                candidates.append((total + gain, [*tokens, word]))
        candidates = sorted(candidates, key=lambda c: -c[0])[: 2 * size]
        for score, tokens in candidates[:size]:
            if tokens[-1] == END and len(finished) < size:
                finished.append((score / divisor(place + 1), tokens))
        if len(finished) == size:
            break
        live = [c for c in candidates if c[1][-1] != END][:size]
    return sorted(finished, key=lambda f: -f[0])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_narrow_beam_follows_its_rules(size):
    # 0 is filler; many sentences, since rules differ only where END comes at the edge of a beam
    limits = [0, 1, 2, 3, 4] + [5] * 35 + [50]
    length_penalty = Power(alpha=1.0)
    table = tables(len(limits), seed=size)
    found = run(Beam(size=size, length_penalty=length_penalty), table, limits)
    for sentence, limit in enumerate(limits):
        wanted = fairseq(table[sentence], size, min(limit, LENGTH), DIVISORS[length_penalty])
        got = [
            words(tokens)
            for tokens, score in zip(found.tokens[sentence], found.scores[sentence], strict=True)
            if score > -math.inf
        ]
        assert got == [tokens for _, tokens in wanted], (sentence, limit)
        np.testing.assert_allclose(
            found.scores[sentence, : len(wanted)], [score for score, _ in wanted], atol=2e-5
        )
        assert (found.tokens[sentence, len(wanted) :] == PAD).all()


def test_greedy_takes_the_best_at_every_place_and_is_a_beam_of_one():
    limits = [0, 1, 3] + [5] * 20
    table = tables(len(limits), seed=7, sharpness=1.0)
    greedy = run(Greedy(), table, limits)
    beam = run(Beam(size=1, length_penalty=NoPenalty()), table, limits)
    np.testing.assert_array_equal(greedy.tokens, beam.tokens)
    np.testing.assert_array_equal(greedy.scores, beam.scores)
    assert (greedy.tokens[0] == PAD).all()
    for sentence, limit in enumerate(limits[1:], 1):
        wanted: list[int] = []
        while END not in wanted:
            logits = table[sentence, hashed([START, *wanted])]
            choices = [END] if len(wanted) + 1 == limit else [END, *WORDS]
            wanted.append(max(choices, key=lambda word, logits=logits: float(logits[word])))
        assert words(greedy.tokens[sentence, 0]) == wanted
        np.testing.assert_allclose(
            greedy.scores[sentence, 0], log_probability(table[sentence], wanted), atol=2e-5
        )


@pytest.mark.parametrize("search", [Greedy(), Beam(size=3)], ids=["greedy", "beam"])
def test_a_sentence_is_found_alike_wherever_it_stands(search: Search):
    limits = np.asarray([5, 3, 0, 4, 5, 1], np.int32)
    table = tables(len(limits), seed=3)
    found = run(search, table, limits)
    order = np.asarray([4, 2, 0, 5, 3, 1], np.int32)
    permuted = run(search, table[order], limits[order])
    np.testing.assert_array_equal(permuted.tokens, found.tokens[order])
    np.testing.assert_array_equal(permuted.scores, found.scores[order])


@pytest.mark.parametrize("least, most", [(0, 2), (2, None), (2, 2), (3, 9)])
def test_hypotheses_have_at_least_and_at_most_so_many_words(least, most):
    limits = [0, 1, 2, 3, 5, 5, 5, 5]
    table = tables(len(limits), seed=5)
    search = Beam(size=2, min_words=least, max_words=most)
    found = run(search, table, limits)
    for sentence, limit in enumerate(limits):
        limit = min(limit, LENGTH if most is None else most + 1)
        wanted = fairseq(table[sentence], 2, limit, DIVISORS[search.length_penalty], least)
        got = [words(row) for row in found.tokens[sentence] if row.any()]
        assert got == [tokens for _, tokens in wanted]
        assert all(min(least + 1, limit) <= len(row) <= limit for row in got)


def test_searches_are_values():
    assert Beam() == Beam(size=5, length_penalty=Power(alpha=1.0))
    assert len({Beam(), Beam(size=5), Greedy(), Beam(size=4), Beam(length_penalty=GNMT())}) == 4
    for size in (0, 1_001):
        wanted = f"size: wanted int above 0 and at most 1000; got int {size}"
        with pytest.raises(UserError, match=wanted):
            Beam(size=size)
    with pytest.raises(UserError, match="min_words: wanted int at least 0; got int -1"):
        Beam(min_words=-1)
    with pytest.raises(UserError, match="max_words must be at least min_words, 2; got 1"):
        Beam(min_words=2, max_words=1)
