"""Attention tile by tile against the dense path, values and gradients; and what it costs."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.tree_util import Partial

from attnjax.attention.align.base import softmax
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.mask import Causal, DenseMask, ExcludeSelf, Padding, Segments, Window
from attnjax.attention.pool import weighted_sum
from attnjax.attention.position import Positions, distance
from attnjax.attention.score.base import dot
from attnjax.attention.score.positional import relative
from attnjax.evaluation.flops import product_flops
from attnjax.nn.product import rounded_products

B, H, T, S, K, V = 2, 2, 11, 14, 4, 3
TILE = (4, 4)


@pytest.fixture(autouse=True)
def groups(monkeypatch):
    """The four examples are read two at a time: what is read of one group is not another's."""
    monkeypatch.setattr("attnjax.attention.fused.tiles.ENTRIES", 2 * 4 * 4)


def inputs(queries: int = T, keys: int = S, dtype=np.float64, leading=(B, H)):
    """Query, key, value, and a direction to read the context in."""
    draw = np.random.default_rng(0).normal
    shapes = (queries, K), (keys, K), (keys, V), (queries, V)
    *given, direction = (draw(size=(*leading, *shape)).astype(dtype) for shape in shapes)
    return given, direction


def positions(queries: int, keys: int):
    return np.arange(queries)[None, None], np.arange(keys)[None, None]


def dense(query, key, value, mask, at, of, bias=None):
    """The same by its weights."""
    logits = dot(query, key) / 2
    if bias is not None:
        logits += bias
    allowed = None
    if mask is not None:
        allowed = jnp.broadcast_to(mask.dense(Positions(at, of)), logits.shape)
    return weighted_sum(softmax(logits, allowed), value)


def with_gradients(attend, direction):
    def read(given):
        context = attend(*given)
        return (context * direction).sum(), context

    return jax.jit(jax.value_and_grad(read, has_aux=True))


PRESENT = np.arange(S)[None, None] < np.array([S, 5])[:, None, None]
WORDS = np.arange(S)
# Three sentences in a row, of 5, 6 and 3 words, or one of 11 and padding: positions restart.
ROWS = np.where(np.array([[[True]], [[False]]]), (WORDS >= 5) * 1 + (WORDS >= 11), WORDS >= 11)
PLACES = np.where(ROWS == 0, WORDS, np.where(ROWS == 1, WORDS - 5, WORDS - 11))
PACKED = Segments(ROWS[..., :T].astype(int), ROWS.astype(int))
HOLES = np.random.default_rng(1).random((B, 1, T, S)) < 0.4
HOLES[1, :, 3:9] = False
MASKS = {
    "none": None,
    "padding": Padding(PRESENT),
    "causal": Causal(),
    "nobody": Window(0, 0) & ExcludeSelf(),
    "window": Window(2, 1) & ExcludeSelf(),
    "some empty rows": Causal() & Padding(WORDS[None, None] > 5),
    "packed": Causal() & PACKED & Window(3, 0),
    "shared and not": Segments(ROWS[:1, ..., :T].astype(int), ROWS[:1].astype(int))
    & Padding(PRESENT),
    "dense": DenseMask(HOLES) & Causal(),
}
WITHIN = ("none", "causal", "window")


@pytest.mark.parametrize(
    "mask",
    [
        # the others have these within
        pytest.param(mask, id=name, marks=[pytest.mark.long] if name in WITHIN else [])
        for name, mask in MASKS.items()
    ],
)
def test_equals_the_dense_path_with_gradients(mask, float64):
    arrays, direction = inputs()
    at, of = positions(T, S)
    expected = with_gradients(lambda *x: dense(*x, mask, at, of), direction)(arrays)
    found = with_gradients(lambda *x: blockwise(Inputs(*x, mask, scale=0.5), TILE), direction)(
        arrays
    )
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-13)
    empty = np.zeros((B, H, T), bool)
    if mask is not None:
        empty = ~np.broadcast_to(mask.dense(Positions(at, of)), (B, H, T, S)).any(-1)
    ((_, context), slopes) = found
    assert (np.asarray(context)[empty] == 0).all()
    assert (np.asarray(slopes[0])[empty] == 0).all()


def test_positions_that_restart_under_packing(float64):
    arrays, direction = inputs()
    at, of, mask = PLACES[..., :T], PLACES, Causal() & PACKED & Window(3, 0)
    expected = with_gradients(lambda *x: dense(*x, mask, at, of), direction)(arrays)
    found = with_gradients(
        lambda *x: blockwise(Inputs(*x, mask, Positions(at, of), scale=0.5), TILE),
        direction,
    )(arrays)
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-13)


def tilted(slope, direction, query, positions):
    """A bias that reads positions, arrays of each example's own, and the queries."""
    away = abs(distance(positions))
    return -slope[..., None, None] * away + jnp.cos(away) * (query * direction[..., None, :]).sum(
        -1, keepdims=True
    )


@pytest.mark.parametrize("packed", [False, True], ids=["whole", "packed, padded, empty rows"])
def test_a_bias_of_positions_and_its_gradient(packed, float64):
    arrays, direction = inputs()
    own = (
        np.broadcast_to([0.5, 0.125], (B, H)),
        np.random.default_rng(2).normal(size=(B, H, K)),
    )
    mask, places = None, Positions(*positions(T, S))
    if packed:
        present = PRESENT & (WORDS[None, None] > 1)
        mask = Causal() & Padding(present) & PACKED
        places = Positions(PLACES[..., :T], PLACES)
        assert not mask.dense(places).any(-1).all()
    at, of = (np.broadcast_to(x, (B, H, x.shape[-1])) for x in places)

    def by_tiles(query, key, value, *own):
        given = places if packed else Positions()
        return blockwise(Inputs(query, key, value, mask, given, Partial(tilted, *own), 0.5), TILE)

    def by_weights(query, key, value, *own):
        bias = tilted(*own, query / 2, Positions(at, of))
        return dense(query, key, value, mask, *places, bias)

    found, expected = (
        with_gradients(run, direction)((*arrays, *own)) for run in (by_tiles, by_weights)
    )
    assert all(slope.any() for slope in expected[1][3:])
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "shared",
    [
        "nothing",
        "mask",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("query", "key", "bias")),
    ],
)
def test_vmap_means_more_examples(shared, float64):
    """It equals the dense path, whatever the examples have in common."""
    (query, key, value), direction = inputs()
    own = np.random.default_rng(2).random((B, H)), query[..., 0, :]
    given = [query, key, own, value]
    number = ["query", "key", "bias", "nothing", "mask"].index(shared)
    axes = [None if place == number and shared != "nothing" else 0 for place in range(5)]
    given = [
        x if axis == 0 else jax.tree.map(lambda x: x[0], x)
        for x, axis in zip(given, axes, strict=False)
    ]
    present = PRESENT if axes[4] == 0 else PRESENT[0]

    def by_tiles(query, key, own, value, present):
        mask, bias = Causal() & Padding(present), Partial(tilted, *own)
        return blockwise(Inputs(query, key, value, mask, logit_bias=bias, scale=0.5), TILE)

    def by_weights(query, key, own, value, present):
        at, of = (x[0] for x in positions(T, S))
        bias = tilted(*own, query / 2, Positions(at, of))
        return dense(query, key, value, Causal() & Padding(present), at, of, bias)

    def lifted(attend):
        run = jax.vmap(attend, axes)
        return with_gradients(lambda *given: run(*given, present), direction)(given)

    chex.assert_trees_all_close(lifted(by_tiles), lifted(by_weights), rtol=0, atol=1e-12)


def test_one_word_at_a_time():
    arrays, _ = inputs(S, S, np.float32)
    whole = np.asarray(jax.jit(lambda *x: blockwise(Inputs(*x, Causal()), TILE))(*arrays))
    step = jax.jit(
        lambda query, t: blockwise(
            Inputs(query, *arrays[1:], Causal(), Positions(t[None, None, None])), TILE
        )
    )
    for t in range(S):
        alone = np.asarray(step(arrays[0][:, :, t : t + 1], np.asarray(t)))
        np.testing.assert_allclose(alone[:, :, 0], whole[:, :, t], atol=1e-6)


@pytest.mark.parametrize(
    "dtype, tolerance",
    [(jnp.bfloat16, 0.03), pytest.param(jnp.float16, 0.004, marks=pytest.mark.long)],
)
def test_half_precision(dtype, tolerance):
    arrays, direction = inputs(dtype=dtype)
    # Products of these pass float16's range, the logits need not.
    arrays[0], arrays[1] = ((x * np.float32(300)).astype(dtype) for x in arrays[:2])
    mask = Causal() & Padding(PRESENT)
    exact = [x.astype(np.float32) for x in arrays]
    read = with_gradients(lambda *x: blockwise(Inputs(*x, mask, scale=1e-5), TILE), direction)
    slopes, ((_, expected), _) = jax.device_get((read(arrays), read(exact)))
    context = slopes[0][1]
    assert context.dtype == dtype
    np.testing.assert_allclose(context.astype(np.float32), expected, atol=tolerance)
    assert all(np.isfinite(x.astype(jnp.float32)).all() for x in jax.tree.leaves(slopes))
    assert [x.dtype for x in slopes[1]] == [dtype] * 3


def of_distance(vectors, query, positions):
    return relative(query, vectors, positions)


@pytest.mark.parametrize("distances", [0, 9], ids=["no bias", "relative positions"])
def test_products_of_rounded_operands(distances, monkeypatch):
    """Products read bfloat16; sums, softmax and results stay float32."""
    # two heads in one tile: XLA must not merge a product with a transposition before it, or after
    monkeypatch.setattr("attnjax.attention.fused.tiles.ENTRIES", 2 * 32 * 32)
    draw = np.random.default_rng(0).normal
    arrays = draw(size=(3, 1, 2, 32, 64)).astype(np.float32)
    vectors = draw(size=(1, 2, distances, 64)).astype(np.float32)

    def total(*arrays):
        *arrays, vectors = arrays
        bias = Partial(of_distance, vectors) if distances else None
        context = blockwise(Inputs(*arrays, Causal(), logit_bias=bias, scale=0.125))
        return context.sum(), context

    numbers = tuple(range(4 if distances else 3))
    attend = jax.jit(jax.grad(total, numbers, has_aux=True))
    exact_slopes, exact = jax.device_get(attend(*arrays, vectors))
    with rounded_products():
        slopes, rounded = jax.device_get(attend(*arrays, vectors))
    for ours, theirs in zip((rounded, *slopes), (exact, *exact_slopes), strict=True):
        assert ours.dtype == np.float32
        assert 1e-5 < abs(ours - theirs).max() / abs(theirs).max() < 2e-2


# Few programs, which take the masks as they come: T, S, tile, window, and whether there is a
# diagonal.
@given(
    st.sampled_from(
        [
            (1, 9, (4, 4), Window(5, 0), True),
            (8, 8, (3, 5), Window(2, 4), True),
            (8, 8, (3, 5), Window(3, 1), False),
            (5, 13, (4, 4), Window(0, 7), False),
        ]
    ),
    st.integers(0, 2**16),
)
def test_any_mask(shape, seed):
    (queries, keys, tile, window, causal), random = shape, np.random.default_rng(seed)
    segments = [np.sort(random.integers(0, 3, (B, 1, n)), -1) for n in (queries, keys)]
    mask = (
        Padding(random.random((B, 1, keys)) < random.random())
        & window
        & Segments(*segments)
        & DenseMask(random.random((1, 1, queries, keys)) < 0.8)
    )
    mask = mask & Causal() if causal else mask
    arrays, direction = inputs(queries, keys, np.float32)
    at, of = positions(queries, keys)
    chex.assert_trees_all_close(
        _by_tiles(arrays, direction, mask, tile),
        _by_weights(arrays, direction, mask, at, of),
        rtol=0,
        atol=2e-5,
    )


@partial(jax.jit, static_argnums=3)
def _by_tiles(arrays, direction, mask, tile):
    return with_gradients(lambda *x: blockwise(Inputs(*x, mask, scale=0.5), tile), direction)(
        arrays
    )


@jax.jit
def _by_weights(arrays, direction, mask, at, of):
    return with_gradients(lambda *x: dense(*x, mask, at, of), direction)(arrays)


def cost(mask, length: int) -> int:
    """FLOPs of both passes in one head."""
    x = jax.ShapeDtypeStruct((1, length, K), jnp.float32)
    read = jax.grad(lambda q, k, v: blockwise(Inputs(q, k, v, mask), (16, 16)).sum(), (0, 1, 2))
    return product_flops(read, x, x, x)


def test_a_tile_that_is_empty_is_not_read():
    tile = 7 * 2 * 16 * 16 * K
    assert cost(None, 256) == 16 * 16 * tile
    assert cost(Causal(), 256) == 16 * 17 // 2 * tile
    # A window costs what a window costs: the diagonal and the tiles beside it, at any length.
    for length in (256, 512, 4096):
        blocks = length // 16
        assert cost(Causal() & Window(16, 0), length) == (2 * blocks - 1) * tile
        assert cost(Window(16, 16), length) == (3 * blocks - 2) * tile


def test_a_tile_that_turns_out_empty_is_passed_over():
    """What is read may be anything; what is not read may be no number at all."""
    arrays, direction = inputs(16, 16, np.float32)
    lost = np.where(np.arange(16)[None, None, :, None] >= 8, np.float32(np.nan), 0)
    query, key, value = arrays
    broken = query, key + lost, value + lost
    mask = Padding(np.arange(16)[None, None] < 8)
    attend = with_gradients(lambda *x: blockwise(Inputs(*x, mask), (8, 8)), direction)
    chex.assert_trees_all_equal(attend(broken), attend(tuple(arrays)))


def test_shapes_that_broadcast(float64):
    """Keys and values that all heads share, and a mask that all queries do."""
    (query, key, value), direction = inputs()
    at, of = positions(T, S)
    shared, mask = (query, key[0, 0], value[:, :1]), DenseMask(PRESENT[..., None, :])
    expected = with_gradients(lambda *x: dense(*x, mask, at, of), direction)(shared)
    found = with_gradients(lambda *x: blockwise(Inputs(*x, mask, scale=0.5), TILE), direction)
    chex.assert_trees_all_close(found(shared), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 2), (2, 3, 0)], ids=str)
def test_nothing_to_read_gives_nothing(shape):
    batch, queries, keys = shape
    arrays = [np.ones((batch, n, K)) for n in (queries, keys, keys)]
    context = jax.jit(lambda *arrays: blockwise(Inputs(*arrays, Causal())))(*arrays)
    np.testing.assert_array_equal(context, np.zeros((batch, queries, K)))


SHARED = {
    "none": None,
    "causal": Causal(),
    "padding": Padding(PRESENT[:, None]) & Window(3, 1),
    "packed": Causal() & Segments(*(x.astype(int)[:, None] for x in (ROWS[..., :T], ROWS))),
    "dense": DenseMask(HOLES[:, None]) & DenseMask(PRESENT[:, None, :, None, :]),
}
QUICK = {("padding", False), ("packed", True)}


@pytest.mark.parametrize(
    "mask, placed",
    [
        pytest.param(
            *(mask, placed),
            id=f"{'positions' if placed else 'numbered'}-{name}",
            marks=[] if (name, placed) in QUICK else [pytest.mark.long],
        )
        for placed in (False, True)
        for name, mask in SHARED.items()
    ],
)
def test_heads_that_share_keys_copy_none(mask, placed, float64):
    """Two heads of keys, each read by three of queries; with gradients."""
    (query, _, _), direction = inputs(leading=(B, 2, 3))
    (_, key, value), _ = inputs(leading=(B, 2, 1))
    at, of = (x[:, None, None] for x in (PLACES[:, 0, :T], PLACES[:, 0]))
    given = Positions(at, of) if placed else Positions()

    def by_tiles(query, key, value):
        return blockwise(Inputs(query, key, value, mask, given, scale=0.5), TILE)

    def by_weights(query, key, value):
        copies = (jnp.broadcast_to(x, (B, 2, 3, *x.shape[-2:])) for x in (key, value))
        places = given.filled(query, key)
        return dense(query, *copies, mask, *places)

    arrays = query, key, value
    found, expected = (with_gradients(run, direction)(arrays) for run in (by_tiles, by_weights))
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-12)
    program = str(jax.make_jaxpr(with_gradients(by_tiles, direction))(arrays))
    padded = S + -S % TILE[1]
    assert f"f64[{B * 2},{padded},{K}]" in program
    assert f"f64[{B * 6},{padded},{K}]" not in program
