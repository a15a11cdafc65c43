"""Masks against loops over positions, and what they do to attention; Hypothesis draws both."""

from functools import reduce
from operator import and_

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from attnjax.attention.attention import Attention
from attnjax.attention.mask import (
    And,
    Causal,
    DenseMask,
    ExcludeSelf,
    Mask,
    Padding,
    Segments,
    Window,
)
from attnjax.attention.position import BlockRange, Positions
from attnjax.attention.score.base import Dot, ScaledDot
from tests import jitted

# Few shapes, so that XLA compiles few programs: leading dimensions, T, S, K.
SHAPES = st.sampled_from([((), 1, 3, 2), ((2,), 4, 4, 64), ((2, 2), 3, 5, 8)])
DTYPES = st.sampled_from([jnp.float32, jnp.bfloat16, jnp.float16])
SEEDS = st.integers(0, 2**16)


def conjunction(data, shape):
    """Some rules joined by &, and each said again for one query and one key."""
    leading, T, S, _ = shape
    # Drawn one by one: Hypothesis takes JAX's use of `random` inside a strategy for a mistake.
    before, after = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    random = np.random.default_rng(data.draw(SEEDS))
    present = random.random((*leading, S)) < 0.7
    query, key = random.integers(0, 2, (*leading, T)), random.integers(0, 2, (*leading, S))
    allowed = random.random((*leading, T, S)) < 0.7
    # A rule sees the example's place, the query's and the key's number, and their positions.
    kinds = [
        (Padding(present), lambda at, t, s, i, j: present[at][s]),
        (Causal(), lambda at, t, s, i, j: j <= i),
        (Window(before, after), lambda at, t, s, i, j: i - before <= j <= i + after),
        (
            Segments(query, key),
            lambda at, t, s, i, j: query[at][t] == key[at][s],
        ),
        (DenseMask(allowed), lambda at, t, s, i, j: allowed[at][t, s]),
        (ExcludeSelf(), lambda at, t, s, i, j: j != i),
    ]
    chosen = [kinds[i] for i in data.draw(st.lists(st.integers(0, len(kinds) - 1), max_size=3))]
    masks, said = [mask for mask, _ in chosen], [rule for _, rule in chosen]
    return (reduce(and_, masks) if masks else And(())), said


def positions(shape, first: int = 0):
    """Absolute positions of queries, which begin at `first`, and of keys."""
    leading, T, S, _ = shape
    query, key = np.arange(first, first + T), np.arange(S)
    return np.broadcast_to(query, (*leading, T)), np.broadcast_to(key, (*leading, S))


def looped(said, shape, first: int = 0) -> np.ndarray:
    """The conjunction, one query and one key at a time."""
    leading, T, S, _ = shape
    table = np.ones((*leading, T, S), bool)
    for *at, t, s in np.ndindex(table.shape):
        table[(*at, t, s)] = all(rule(tuple(at), t, s, t + first, s) for rule in said)
    return table


@given(st.data())
def test_a_conjunction_is_the_and_of_its_rules(data):
    shape = data.draw(SHAPES)
    first = data.draw(st.integers(0, 2))
    mask, said = conjunction(data, shape)
    dense = mask.dense(Positions(*positions(shape, first)))
    table = looped(said, shape, first)
    np.testing.assert_array_equal(np.broadcast_to(dense, table.shape), table)


def inputs(data, shape, dtype, size: float):
    """Query, key and value with entries up to `size`."""
    leading, T, S, K = shape
    random = np.random.default_rng(data.draw(SEEDS))
    return [
        random.uniform(-size, size, (*leading, length, K)).astype(dtype) for length in (T, S, S)
    ]


def dense(mask, shape) -> DenseMask:
    """The same mask as one array, so that all conjunctions are read by one program."""
    leading, T, S, _ = shape
    allowed = mask.dense(Positions(*positions(shape)))
    return DenseMask(np.array(np.broadcast_to(allowed, (*leading, T, S))))


def attend(mask, query, key, value, *, score=ScaledDot(), **at):
    """Context and weights, as float32 NumPy arrays."""
    looking = {"deterministic": True, "mutable": ["attention"]}
    context, seen = jitted.apply(
        Attention(score=score), {}, query, key, value, mask, **at, **looking
    )
    assert context.dtype == value.dtype
    (weights,) = seen["attention"]["weights"]
    return np.asarray(context, np.float32), np.asarray(weights, np.float32)


@given(st.data())
def test_weights_are_a_distribution_over_the_allowed_keys(data):
    shape, dtype = data.draw(SHAPES), data.draw(DTYPES)
    mask, said = conjunction(data, shape)
    # At width 64 products of entries of 100 pass the range of float16.
    query, key, value = inputs(data, shape, dtype, size=100)
    query = query if data.draw(st.booleans()) else np.full_like(query, 100)
    context, weights = attend(dense(mask, shape), query, key, value, score=Dot())
    table = looped(said, shape)
    assert np.isfinite(context).all()
    assert (weights >= 0).all()
    assert (weights[~table] == 0).all()
    np.testing.assert_allclose(weights.sum(-1), table.any(-1), atol=1e-5)
    assert (context[~table.any(-1)] == 0).all()


@given(st.data())
def test_masked_keys_might_as_well_not_be_there(data):
    shape = data.draw(SHAPES)
    mask, said = conjunction(data, shape)
    query, key, value = inputs(data, shape, jnp.float32, size=2)
    context, _ = attend(dense(mask, shape), query, key, value)
    for *at, t in np.ndindex(context.shape[:-1]):
        place = tuple(at)
        allowed = looped(said, shape)[(*place, t)]
        k, v = (np.asarray(x[place])[allowed].astype(np.float64) for x in (key, value))
        logits = k @ np.asarray(query[(*place, t)]) / np.sqrt(k.shape[-1])
        weights = np.exp(logits - logits.max(initial=-np.inf))
        expected = weights @ v / weights.sum() if allowed.any() else np.zeros(v.shape[-1])
        np.testing.assert_allclose(context[(*place, t)], expected, atol=1e-5)


@given(st.data())
def test_the_order_of_keys_does_not_matter(data):
    shape = data.draw(SHAPES)
    query, key, value = inputs(data, shape, jnp.float32, size=2)
    _, said = conjunction(data, shape)
    table = looped(said, shape)
    order = np.array(data.draw(st.permutations(range(shape[2]))))
    context, weights = attend(DenseMask(table), query, key, value)
    moved, moved_weights = attend(
        DenseMask(table[..., order]), query, key[..., order, :], value[..., order, :]
    )
    np.testing.assert_allclose(moved, context, atol=1e-5)
    np.testing.assert_allclose(moved_weights, weights[..., order], atol=1e-5)
    # Rules on positions follow the keys when these bring their positions along.
    at, of = positions(shape)
    moved, _ = attend(
        Causal(),
        query,
        key[..., order, :],
        value[..., order, :],
        positions=Positions(at, of[..., order]),
    )
    np.testing.assert_allclose(moved, attend(Causal(), query, key, value)[0], atol=1e-5)


def test_a_mask_is_a_value():
    mask = Padding(np.ones((1, 3), bool)) & Causal() & Window(1, 0)
    dense = jax.jit(lambda mask, at: mask.dense(Positions(at, at)))(mask, np.arange(3)[None])
    np.testing.assert_array_equal(dense[0], [[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    assert Causal() & Window(1, 0) == And((Causal(), Window(1, 0)))


@pytest.mark.parametrize("reach, named", [((-1, 0), "before"), ((0, -2), "after")])
def test_a_negative_window_is_refused(reach, named):
    with pytest.raises(ValueError, match=f"{named} must be at least 0; got {min(reach)}"):
        Window(*reach)


SEGMENT = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3])
BLOCKED: tuple[Mask, ...] = (
    Causal(),
    ExcludeSelf(),
    *(Window(before, after) for before in range(9) for after in range(9)),
    Padding(SEGMENT > 0),
    Padding(SEGMENT == 2),
    Segments(SEGMENT, SEGMENT),
    Segments(SEGMENT[::-1], SEGMENT),
    DenseMask(SEGMENT[:, None] < SEGMENT),
    DenseMask(np.add.outer(np.arange(15), np.arange(15)) > 9),
)


@pytest.mark.parametrize("rows, columns", [(5, 5), (3, 5), (5, 3), (1, 15)])
@pytest.mark.parametrize("first", [0, 4])
def test_a_tile_that_is_called_empty_or_whole_is(rows, columns, first):
    query, key = np.arange(first, first + 15), np.arange(15)
    for mask in BLOCKED:
        table = np.broadcast_to(mask.dense(Positions(query, key)), (15, 15))
        pairs = table.reshape(15 // rows, rows, 15 // columns, columns)
        found = mask.block(BlockRange.of(query, rows), BlockRange.of(key, columns))
        some, whole = (np.broadcast_to(said, pairs.shape[::2]) for said in found)
        assert not pairs.any((1, 3))[~some].any(), mask
        assert pairs.all((1, 3))[whole].all(), mask
        if not isinstance(mask, ExcludeSelf | Segments):
            # the others' rules are known to the last pair
            np.testing.assert_array_equal(some, pairs.any((1, 3)), str(mask))
            np.testing.assert_array_equal(whole, pairs.all((1, 3)), str(mask))
