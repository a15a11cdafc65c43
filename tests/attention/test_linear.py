"""Linear attention: the oracle, its three forms, who sees what, what it refuses."""

from functools import partial
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention import (
    Attention,
    Causal,
    DenseMask,
    EluPlusOne,
    LinearAttention,
    MultiHead,
    Padding,
    Positions,
    PositiveRandomFeatures,
    Segments,
    Window,
)
from attnjax.attention.state import linear
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

B, K, V = 2, 3, 2
MAPS = [EluPlusOne(), PositiveRandomFeatures(features=5)]


def named(part: Any) -> str:
    return type(part).__name__


def arrays(length: int, queries: int | None = None, dtype: Any = np.float64) -> list[np.ndarray]:
    """Queries, keys, values, and a direction to read the context in."""
    draw = np.random.default_rng(0).normal
    shapes = ((queries or length, K), (length, K), (length, V), (queries or length, V))
    return [draw(size=(B, *shape)).astype(dtype) for shape in shapes]


def variables_of(attention: LinearAttention, inputs: Any) -> Any:
    return jitted.drawn(attention, *inputs, deterministic=True)


def expected(attention: LinearAttention, variables: Any, inputs: Any, allowed: Any) -> Any:
    """The first line of the module's docstring, a sum for each query; one sentence."""

    def phi(x):
        if isinstance(attention.feature_map, EluPlusOne):
            return np.where(x.real > 0, x + 1, np.exp(x))
        rows = variables["params"]["feature_map"]["constant_projection"]
        y = x / K**0.25
        return np.exp(rows @ y - (y @ y) / 2) / len(rows) ** 0.5

    query, key, value = inputs
    context = np.zeros((len(query), V), np.result_type(query, key, value))
    for t, q in enumerate(query):
        fits = [phi(q) @ phi(k) if allowed[t, s] else 0 for s, k in enumerate(key)]
        if allowed[t].any():
            context[t] = sum(f * v for f, v in zip(fits, value, strict=True)) / sum(fits)
    return context


@pytest.mark.parametrize("causal", [False, True], ids=["all keys", "causal"])
@pytest.mark.parametrize("feature_map", MAPS, ids=named)
def test_equals_the_oracle_with_gradients(feature_map, causal, float64, monkeypatch):
    monkeypatch.setattr(linear, "CHUNK", 2)
    monkeypatch.setattr(linear, "GROUP", 2)
    attention = LinearAttention(feature_map=feature_map)
    *inputs, direction = arrays(5)
    variables = variables_of(attention, inputs)
    present = np.array([[False, True, True, True, True], [True, True, True, False, False]])
    mask = Padding(present) & Causal() if causal else Padding(present)

    @jax.jit
    def read(*inputs):
        def total(*inputs):
            context: Any = attention.apply(variables, *inputs, mask, deterministic=True)
            return (context * direction).sum(), context

        return jax.value_and_grad(total, (0, 1, 2), has_aux=True)(*inputs)

    allowed = np.broadcast_to(present[:, None], (B, 5, 5))
    allowed = allowed & (np.tril(np.ones((5, 5), bool)) | (not causal))
    assert not allowed[0, 0].any() or not causal, "a row that may attend to nothing"

    def context(inputs):
        rows = zip(*inputs, allowed, strict=True)
        return np.array([expected(attention, variables, row[:3], row[3]) for row in rows])

    tree = tuple(inputs)
    slopes = oracle.gradient(lambda tree: (context(tree) * direction).sum(), tree)
    (_, found), found_slopes = read(*inputs)
    chex.assert_trees_all_close(found, context(tree), rtol=0, atol=1e-12)
    chex.assert_trees_all_close(found_slopes, slopes, rtol=0, atol=1e-12)


FORMS = ("all keys", "chunks", "positions", "steps")


def form(name: str, attention: LinearAttention, variables: Any, inputs: Any) -> Any:
    """The context in one of the forms; but for the first all are causal."""
    call: Any = partial(attention.apply, variables)
    if name != "steps":
        mask = None if name == "all keys" else Causal()
        steps = jnp.arange(inputs[0].shape[1])[None] if name == "positions" else None
        return call(*inputs, mask, positions=Positions(steps), deterministic=True)

    def step(state, word):
        query, key, value = (x[:, None] for x in word)
        memory = call(key, value, method="prepare")
        context, state = call(query, memory, state, method="step")
        return state, context[:, 0]

    state = call(call(*inputs[1:], method="prepare"), method="start")
    _, context = jax.lax.scan(step, state, [jnp.moveaxis(x, 1, 0) for x in inputs])
    return jnp.moveaxis(context, 0, 1)


@pytest.mark.parametrize("feature_map", MAPS, ids=named)
def test_chunks_steps_and_all_pairs_are_one_with_gradients(feature_map, float64, monkeypatch):
    """130 keys are two chunks and a rest, in two groups."""
    monkeypatch.setattr(linear, "GROUP", 2)
    attention = LinearAttention(feature_map=feature_map)
    *inputs, direction = arrays(2 * linear.CHUNK + 2)
    variables = variables_of(attention, inputs)

    def read(name):
        def total(*inputs):
            context = form(name, attention, variables, inputs)
            return (context * direction).sum(), context

        (_, context), slopes = jax.jit(jax.value_and_grad(total, (0, 1, 2), has_aux=True))(*inputs)
        return context, slopes

    expected = read("positions")
    chex.assert_trees_all_close(read("chunks"), expected, rtol=1e-11, atol=1e-12)
    chex.assert_trees_all_close(read("steps"), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", FORMS)
def test_a_query_that_fits_every_key_badly_attends_all_the_same(name):
    """Features of query and key that are large at different places: no product reaches exp(-87)."""
    attention = LinearAttention(feature_map=PositiveRandomFeatures(features=64))
    draw = np.random.default_rng(0).normal
    query, key = (10 * draw(size=(2, 1, 70, 64))).astype(np.float32)
    value, direction = draw(size=(2, 1, 70, V)).astype(np.float32)
    variables = variables_of(attention, (query, key, value))
    rows = np.float64(variables["params"]["feature_map"]["constant_projection"])

    def log_phi(x):
        y = np.float64(x[0]) / 64**0.25
        return y @ rows.T - (y**2).sum(-1, keepdims=True) / 2

    logs = log_phi(query)[:, None] + log_phi(key)[None]
    allowed = np.tril(np.ones((70, 70), bool)) | (name == "all keys")
    own = [log_phi(x) - log_phi(x).max(-1, keepdims=True) for x in (query, key)]
    assert (own[0][0] + own[1][0]).max() < -20, "scaled by their own largest, products are tiny"
    logs = np.where(allowed[..., None], logs, -np.inf)
    weights = np.exp(logs - logs.max((1, 2), keepdims=True)).sum(-1)
    weights /= weights.sum(-1, keepdims=True)

    @jax.jit
    def read(*inputs):
        def total(*inputs):
            context = form(name, attention, variables, inputs)
            return (context * direction).sum(), context

        return jax.value_and_grad(total, (0, 1, 2), has_aux=True)(*inputs)

    (_, found), slopes = jax.device_get(read(query, key, value))
    np.testing.assert_allclose(found[0], weights @ np.float64(value[0]), rtol=0, atol=2e-3)
    assert all(np.isfinite(slope).all() for slope in slopes)
    np.testing.assert_allclose(slopes[2][0], weights.T @ np.float64(direction[0]), atol=5e-3)
    if name != "all keys":
        np.testing.assert_allclose(found[0, 0], value[0, 0], rtol=1e-6)  # one key has the weight 1


def test_all_keys_at_once_are_the_last_causal_query(float64):
    attention, (query, key, value, _) = LinearAttention(), arrays(2 * linear.CHUNK + 2)

    def call(*inputs) -> Any:
        return jitted.apply(attention, {}, *inputs, deterministic=True)

    causal = call(query, key, value, Causal())
    np.testing.assert_allclose(causal[:, -1:], call(query[:, -1:], key, value), rtol=1e-12)


def test_a_key_far_larger_than_those_before_it_does_not_hide_them():
    """exp(-700) is 0 in float32: the sums before the large key must not be divided by it."""
    attention = LinearAttention(feature_map=PositiveRandomFeatures(features=4))
    query, key, value, _ = arrays(6, dtype=np.float32)
    variables = variables_of(attention, (query, key, value))
    key[:, :3] *= 40.0

    def attend(*inputs) -> Any:
        return jitted.apply(attention, variables, *inputs, Causal(), deterministic=True)

    log_features: Any = jitted.apply(
        attention, variables, key, method=lambda module, key: module.feature_map(key)
    )
    assert log_features[:, :3].max() < log_features[:, 3:].max() - 200
    together = attend(query, key, value)
    np.testing.assert_allclose(together[:, 0], value[:, 0], rtol=1e-5)
    alone = attend(query[:, :3], key[:, :3], value[:, :3])
    np.testing.assert_allclose(together[:, :3], alone, rtol=1e-5, atol=1e-6)


def test_the_scale_of_a_state_is_a_constant_for_the_gradient():
    """It cancels: its gradient would be rounding errors, and a second way through every key."""
    _, key, value, _ = arrays(4, dtype=np.float32)

    def scale(log_features):
        memory = linear.LinearMemory(log_features, value)
        return linear.add_keys(linear.empty_state(memory), memory).log_scale.sum()

    total, slope = jax.device_get(jax.jit(jax.value_and_grad(scale))(key))
    np.testing.assert_allclose(total, key.max(1).sum(), rtol=1e-6)
    assert not slope.any()


def test_a_hidden_key_far_larger_than_the_others_does_not_hide_them():
    """The scale of the features is that of the keys that are seen."""
    attention = LinearAttention(feature_map=PositiveRandomFeatures(features=4))
    query, key, value, _ = arrays(4, dtype=np.float32)
    variables = variables_of(attention, (query, key, value))
    key[:, :2] *= 40.0
    present = np.broadcast_to(np.arange(4) < 2, (B, 4))
    attend: Any = partial(jitted.apply, attention, variables, deterministic=True)
    found = attend(query, key, value, Padding(present))
    alone = attend(query, key[:, :2], value[:, :2])
    np.testing.assert_allclose(found, alone, rtol=1e-6)
    assert alone.any(-1).all()


# several heads have the single one within
@pytest.mark.parametrize("heads", [pytest.param(None, marks=pytest.mark.long), 2])
@pytest.mark.parametrize("feature_map", MAPS, ids=named)
def test_hidden_keys_and_empty_rows_move_nothing(feature_map, heads):
    """Sentence 1 has two words, sentence 0 none: its rows are 0, and so are their gradients."""
    attention: Any = LinearAttention(feature_map=feature_map)
    attention = attention if heads is None else MultiHead(head=attention, heads=heads)
    present = np.arange(4)[None] < np.array([0, 2])[:, None]
    x = np.random.default_rng(0).normal(size=(3, B, 4, 4))
    inputs = {
        dtype: jnp.asarray(np.where(present[..., None], x, 200.0), dtype)
        for dtype in ("float32", "bfloat16", "float16")
    }

    drawn = jitted.drawn(attention, *x, deterministic=True)

    def read(given: jax.Array) -> Any:
        variables = jax.tree.map(lambda leaf: leaf.astype(given.dtype), drawn)

        def total(given: jax.Array) -> tuple[jax.Array, jax.Array]:
            context = attention.apply(variables, *given, Padding(present), deterministic=True)
            return context.astype(jnp.float32).sum(), context

        return jax.grad(total, has_aux=True)(given)

    found = jax.device_get(jax.jit(partial(jax.tree.map, read))(inputs))
    for dtype, (slopes, context) in found.items():
        assert context.dtype == dtype
        assert np.isfinite(np.asarray(slopes, np.float32)).all()
        assert not np.any(context[0])
        assert not np.any(slopes[:, 0])
        assert not np.any(slopes[1:, 1, 2:])
        assert np.all(slopes[2, 1, :2])


def test_positive_random_features_are_unbiased():
    """Choromanski et al. 2021, lemma 1, with the orthogonal rows of section 2.4."""
    query, key = np.array([0.8, -0.3, 0.5]), np.array([0.2, 0.9, -0.4])
    feature_map = PositiveRandomFeatures(features=3)

    def product(number):
        variables = feature_map.init(jax.random.key(number), query[None])
        phi: Any = jnp.exp(feature_map.apply(variables, jnp.stack([query, key])))
        return phi[0] @ phi[1], variables["params"]["constant_projection"]

    draws = 20_000
    products, projections = jax.device_get(jax.jit(jax.vmap(product))(np.arange(draws)))
    error = products.std() / draws**0.5
    assert abs(products.mean() - np.exp(query @ key / 3**0.5)) < 4 * error
    assert 4 * error < 0.02, "a biased map would be seen"
    # rows N(0, I), orthogonal to each other
    np.testing.assert_allclose(projections.mean(0), 0, atol=0.04)
    np.testing.assert_allclose(
        np.einsum("nik,nil->kl", projections, projections) / (3 * draws), np.eye(3), atol=0.04
    )
    off_diagonal = np.einsum("nik,njk->nij", projections, projections)[:, *np.triu_indices(3, 1)]
    np.testing.assert_allclose(off_diagonal, 0, atol=1e-4)


def test_more_features_than_the_width_are_blocks_of_orthogonal_rows():
    rows = jitted.init(PositiveRandomFeatures(features=7), jax.random.key(0), np.ones((1, 3)))
    rows = rows["params"]["constant_projection"]
    assert rows.shape == (7, 3)
    products = rows @ rows.T
    same = np.arange(7)[:, None] // 3 == np.arange(7) // 3
    np.testing.assert_allclose(products[same & ~np.eye(7, dtype=bool)], 0, atol=1e-5)
    assert (np.abs(products[~same]) > 1e-3).all()


def test_many_random_features_give_softmax_attention():
    query, key, value, _ = arrays(6, dtype=np.float32)
    attention = LinearAttention(feature_map=PositiveRandomFeatures(features=50_000))
    found = jitted.apply(
        attention,
        jitted.init(attention, jax.random.key(0), query, key, value, deterministic=True),
        query,
        key,
        value,
        Causal(),
        deterministic=True,
    )
    exact = jitted.apply(Attention(), {}, query, key, value, Causal(), deterministic=True)
    np.testing.assert_allclose(found, exact, atol=0.05)


@pytest.mark.long
def test_each_head_has_features_of_its_own_and_none_is_trained():
    inputs = arrays(4, dtype=np.float32)[0]
    inputs = np.concatenate([inputs, inputs], -1)
    heads = MultiHead(head=LinearAttention(feature_map=PositiveRandomFeatures(features=5)), heads=2)
    variables = jitted.init(heads, jax.random.key(0), inputs, deterministic=True)
    projection = variables["params"]["head"]["feature_map"]["constant_projection"]
    assert projection.shape == (2, 5, 3)
    assert not np.allclose(projection[0], projection[1])

    def total(variables):
        context: Any = heads.apply(variables, inputs, deterministic=True)
        return (context**2).sum()

    slopes: Any = jax.jit(jax.grad(total))(variables)["params"]
    assert not np.any(slopes["head"]["feature_map"]["constant_projection"])
    assert all(np.any(slopes[name]["kernel"]) for name in ("query", "key", "value", "out"))


def test_multi_head_is_each_head_alone(float64):
    attention = LinearAttention(feature_map=PositiveRandomFeatures(features=5))
    x = np.random.default_rng(1).normal(size=(B, 4, 6))
    heads = MultiHead(head=attention, heads=2)
    params = jitted.init(heads, jax.random.key(0), x, deterministic=True)["params"]
    both, alone = (partial(jitted.apply, one, deterministic=True) for one in (heads, attention))
    found = both({"params": params}, x, x, x, Causal())
    merged = 0
    for head in range(2):
        projected = [x @ params[name]["kernel"][:, head] for name in ("query", "key", "value")]
        own = {"params": jax.tree.map(lambda leaf, head=head: leaf[head], params["head"])}
        context = alone(own, *projected, Causal())
        merged += context @ params["out"]["kernel"][head]
    np.testing.assert_allclose(found, merged, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("mask", "name"),
    [
        (Window(1, 1), "Window"),
        (Causal() & Window(1, 0), "Window"),
        (DenseMask(jnp.ones((B, 4, 4), bool)), "DenseMask"),
        (jnp.ones((B, 4, 4), bool), "DenseMask"),
        (Segments(jnp.zeros((B, 4), int), jnp.zeros((B, 4), int)), "Segments"),
    ],
    ids=["window", "conjunction", "dense", "array", "segments"],
)
def test_a_rule_on_pairs_is_refused_by_name(mask, name):
    *inputs, _ = arrays(4, dtype=np.float32)
    with pytest.raises(UserError, match=f"LinearAttention takes the masks .* got {name}: "):
        jitted.apply(LinearAttention(), {}, *inputs, mask, deterministic=True)


def test_there_are_no_weights_to_look_at():
    *inputs, _ = arrays(4, dtype=np.float32)
    _, sown = jitted.apply(
        LinearAttention(), {}, *inputs, deterministic=True, mutable=["attention"]
    )
    assert not jax.tree.leaves(sown)


def test_a_long_sequence_keeps_a_state_a_chunk_and_not_a_query():
    """Of 4,096 queries the states of all would take 4,096 * 32 * 32 numbers: 16 MiB."""
    x = jax.ShapeDtypeStruct((1, 4_096, 32), jnp.float32)

    def total(query, key, value):
        context: Any = LinearAttention().apply({}, query, key, value, Causal(), deterministic=True)
        return context.sum()

    compiled = jax.jit(jax.grad(total, (0, 1, 2))).lower(x, x, x).compile()
    analysis: Any = compiled.memory_analysis()
    assert analysis.temp_size_in_bytes < 8 * 2**20
