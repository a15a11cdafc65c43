"""Searches against enumeration and against a second implementation, over a decoder of tables."""

import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.symbols import END, PAD, START
from attnjax.decoding.normalisation import Normalisation, Power, Unnormalised, Wu
from attnjax.decoding.search import Beam, Greedy, Search
from attnjax.errors import UserError

VOCABULARY = 6
LENGTH = 5
ROWS = 997
WORDS = [w for w in range(VOCABULARY) if w not in (PAD, START, END)]


def start(sentences: int, seed: int = 0, sharpness: float = 2.0):
    """A decoder whose logits depend on the sentence and on every symbol so far.

    The carry is the history itself (two leaves, so that both must be reordered alike); a row of
    the sentence's table is chosen by its hash.
    """
    generator = np.random.default_rng(seed)
    table = sharpness * generator.normal(size=(sentences, ROWS, VOCABULARY)).astype(np.float32)
    history = jnp.zeros((sentences, LENGTH), jnp.int32), jnp.zeros(sentences, jnp.int32)
    return jnp.asarray(table), history


def hashed(history) -> int:
    value = 0
    for token in history:
        value = (value * 31 + int(token) + 1) % ROWS
    return value


def step(table, carry, token):
    history, position = carry
    history = jax.vmap(lambda row, place, new: row.at[place].set(new))(history, position, token)
    position = position + 1
    value = jnp.zeros_like(position)
    for place in range(LENGTH):
        value = jnp.where(place < position, (value * 31 + history[:, place] + 1) % ROWS, value)
    return jax.vmap(lambda rows, row: rows[row])(table, value), (history, position)


def log_probability(table, tokens) -> float:
    """The teacher-forced log-probability of a hypothesis, END included, of one sentence."""
    given, total = [START], 0.0
    for token in tokens:
        logits = np.asarray(table[hashed(given)], np.float64)
        total += logits[token] - np.logaddexp.reduce(logits)
        given.append(token)
    return total


DIVISORS = {
    Unnormalised(): lambda length: 1.0,
    Power(alpha=1.0): lambda length: float(length),
    Power(alpha=0.3): lambda length: length**0.3,
    Wu(alpha=0.6): lambda length: ((5 + length) / 6) ** 0.6,
}


class Found(NamedTuple):
    tokens: np.ndarray
    scores: np.ndarray


def run(search: Search, table, carry, limit) -> Found:
    found = jax.jit(lambda t, c, n: search(step, t, c, length=LENGTH, limit=n))(
        table, carry, jnp.asarray(limit)
    )
    assert found.tokens.dtype == jnp.int32
    assert found.scores.dtype == jnp.float32
    return Found(np.asarray(found.tokens), np.asarray(found.scores))


def words(row) -> list[int]:
    """Up to END, which has to be there with nothing but PAD after it."""
    row = row.tolist()
    end = row.index(END)
    assert row[end + 1 :] == [PAD] * (len(row) - end - 1)
    return row[: end + 1]


@pytest.mark.parametrize("normalisation", DIVISORS, ids=repr)
def test_beam_that_holds_everything_is_exhaustive(normalisation: Normalisation):
    limits = [4, 5, 2]
    table, carry = start(len(limits))
    space = {
        n: [(*w, END) for k in range(n) for w in itertools.product(WORDS, repeat=k)] for n in limits
    }
    found = run(Beam(size=len(space[5]), normalisation=normalisation), table, carry, limits)
    for sentence, limit in enumerate(limits):
        scored = sorted(
            (log_probability(table[sentence], y) / DIVISORS[normalisation](len(y)), y)
            for y in space[limit]
        )[::-1]
        assert words(found.tokens[sentence, 0]) == list(scored[0][1])
        # not the best alone: every hypothesis there is, once, in order; then nothing
        np.testing.assert_allclose(
            found.scores[sentence, : len(scored)], [score for score, _ in scored], atol=2e-5
        )
        assert np.isneginf(found.scores[sentence, len(scored) :]).all()
        assert (found.tokens[sentence, len(scored) :] == PAD).all()


def fairseq(table, size: int, limit: int, divisor) -> list[tuple[float, list[int]]]:
    """The rules of Beam's docstring, in lists, for one sentence."""
    live, finished = [(0.0, [])], []
    for place in range(limit):
        candidates = []
        for total, tokens in live:
            logits = np.asarray(table[hashed([START, *tokens])], np.float64)
            for word in [END] if place + 1 == limit else [END, *WORDS]:
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
    normalisation = Power(alpha=1.0)
    table, carry = start(len(limits), seed=size)
    found = run(Beam(size=size, normalisation=normalisation), table, carry, limits)
    for sentence, limit in enumerate(limits):
        wanted = fairseq(table[sentence], size, min(limit, LENGTH), DIVISORS[normalisation])
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
    table, carry = start(len(limits), seed=7, sharpness=1.0)
    greedy = run(Greedy(), table, carry, limits)
    beam = run(Beam(size=1, normalisation=Unnormalised()), table, carry, limits)
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
    table, carry = start(len(limits), seed=3)
    found = run(search, table, carry, limits)
    order = np.asarray([4, 2, 0, 5, 3, 1], np.int32)
    permuted = run(search, table[order], carry, limits[order])
    np.testing.assert_array_equal(permuted.tokens, found.tokens[order])
    np.testing.assert_array_equal(permuted.scores, found.scores[order])


@pytest.mark.parametrize("search", [Greedy(), Beam(size=2)], ids=["greedy", "beam"])
def test_the_search_stops_when_every_sentence_is_finished(search: Search):
    calls = []

    def ends_soon(constants, carry, token):
        jax.debug.callback(lambda: calls.append(1), ordered=False)
        # END is certain from the third symbol on
        end = jnp.arange(VOCABULARY)[None] == END
        logits = jnp.where(end == (carry[:, None] >= 2), 9.0, -9.0)
        return logits, carry + 1

    length = 1000
    limit = jnp.asarray([length, 0, length])
    found = search(ends_soon, None, jnp.zeros(3, jnp.int32), length=length, limit=limit)
    jax.block_until_ready(found)
    jax.effects_barrier()
    assert (found.tokens[:, 0, 2] == jnp.asarray([END, PAD, END])).all()
    # a callback under vmap runs once a hypothesis; two finished ones take a few steps more
    assert 3 <= len(calls) <= 2 * 6


def test_searches_are_values():
    assert Beam() == Beam(size=5, normalisation=Power(alpha=1.0))
    assert len({Beam(), Beam(size=5), Greedy(), Beam(size=4), Beam(normalisation=Wu())}) == 4
    with pytest.raises(UserError, match="got size 0"):
        Beam(size=0)
