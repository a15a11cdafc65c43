"""Scores that are no product of query and key: "location", "concat", a key's salience."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import DenseMask
from attnjax.attention.position import Positions
from attnjax.attention.score.base import Additive, Location, Salience, location
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

B, T, S, Q, K = 2, 3, 4, 3, 2


def arrays(*, key_width: int = K):
    """Query, key, value; a mask with an empty row; a direction to read."""
    draw = np.random.default_rng(0).normal
    allowed = np.random.default_rng(1).random((B, T, S)) < 0.7
    allowed[0, 1] = False
    shapes = (T, Q), (S, key_width), (S, K), (T, K)
    *inputs, direction = (draw(size=(B, *shape)) for shape in shapes)
    return inputs, allowed, direction


def compare(score, parameters, logits_of_one):
    """One head against logits of the parameters, a query and a key, with all gradients."""
    inputs, allowed, direction = arrays()

    def context(tree):
        own, rows = tree[0], zip(*tree[1], allowed, strict=True)
        return np.array(
            [oracle.pool(oracle.softmax(logits_of_one(own, q, k), a), v) for q, k, v, a in rows]
        )

    def read(parameters, inputs):
        found = Attention(score=score).apply(
            {"params": {"score": parameters}},
            *inputs,
            DenseMask(allowed),
            deterministic=True,
        )
        return (found * direction).sum(), found

    expected = context((parameters, inputs))
    slopes = oracle.gradient(lambda tree: (context(tree) * direction).sum(), (parameters, inputs))
    (_, value), found = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))(parameters, inputs)
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)
    chex.assert_trees_all_close(found, slopes, rtol=0, atol=1e-12)


def test_location_is_the_query_times_the_places_column(float64):
    weight = np.random.default_rng(2).normal(size=(Q, S + 2))

    def logits(own, query, key):
        return np.array([[q @ own["weight"][:, s] for s in range(len(key))] for q in query])

    compare(Location(max_length=S + 2), {"weight": weight}, logits)


def test_concat_is_additive(float64):
    draw, width = np.random.default_rng(2).normal, 5
    parameters = {
        "query": {"kernel": draw(size=(Q, width))},
        "key": {"kernel": draw(size=(K, width))},
        "v": draw(size=width),
    }

    def concat(own, query, key):
        """Luong et al. 2015, section 3.1: v . tanh(W [q; k]), W [width, Q + K]."""
        matrix = np.concatenate([own["query"]["kernel"], own["key"]["kernel"]]).T
        return np.array(
            [[own["v"] @ np.tanh(matrix @ np.concatenate([q, k])) for k in key] for q in query]
        )

    compare(Additive(width=width), parameters, concat)


def test_salience_reads_the_key_alone(float64):
    parameters = {"weight": np.random.default_rng(2).normal(size=K), "bias": np.array(0.3)}

    def logits(own, query, key):
        """Raffel and Ellis 2015, section 2.1."""
        return np.array([[np.tanh(own["weight"] @ k + own["bias"]) for k in key] for _ in query])

    compare(Salience(), parameters, logits)


def test_location_looks_at_no_key_and_at_no_later_place():
    (query, key, _), _, _ = arrays()
    query, key = np.float32(query), np.float32(key)
    score = Location(max_length=S)
    at = Positions().filled(query, key)
    logits, variables = jitted.init_with_output(score, jax.random.key(0), query, key, at)
    assert variables["params"]["weight"].shape == (Q, S)
    np.testing.assert_array_equal(jitted.apply(score, variables, query, -key, at), logits)
    fewer = key[:, : S - 1]
    shorter = jitted.apply(score, variables, query, fewer, Positions().filled(query, fewer))
    np.testing.assert_allclose(shorter, logits[..., : S - 1], atol=1e-6)


def test_location_logits_are_float32_or_wider():
    x = jnp.full((1, 64), 100, jnp.float16)
    assert location(x, x.T) == 640_000
    assert location(x, x.T).dtype == jnp.float32


def test_every_head_has_places_of_its_own():
    inputs = [np.zeros((1, n, 4)) for n in (T, S, S)]
    module = MultiHead(head=Attention(score=Location(max_length=S)), heads=2)
    parameters = jitted.init(module, jax.random.key(0), *inputs, deterministic=True)["params"]
    first, second = parameters["head"]["score"]["weight"]
    assert first.shape == (2, S)
    assert not np.allclose(first, second)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("outside", [-1, S])
def test_a_position_without_a_column_is_refused_if_known_and_else_nan(outside, rows):
    """With positions of all examples, and of each."""
    query, key = np.ones((rows, T, 4), np.float32), np.ones((rows, 2, 4), np.float32)
    score, at = Location(max_length=S), np.tile(np.array([S - 1, outside]), (rows, 1))
    variables = jitted.init(score, jax.random.key(0), query, key, Positions().filled(query, key))
    for known in (at, jnp.asarray(at)):
        with pytest.raises(UserError, match=f"has positions 0 to {S - 1}; got {outside}"):
            score.apply(variables, query, key, Positions(jnp.arange(T)[None], known))
    traced = jitted.apply(score, variables, query, key, Positions(None, at))
    wanted = variables["params"]["weight"][:, S - 1].sum()
    np.testing.assert_allclose(traced[..., 0], np.full((rows, T), wanted), rtol=1e-6)
    assert np.isnan(traced[..., 1]).all()


def test_more_keys_than_places_are_refused():
    score = Location(max_length=S - 1)
    inputs = arrays()[0]
    with pytest.raises(UserError, match="max_length 3 takes at most as many keys; got 4"):
        jitted.init(Attention(score=score), jax.random.key(0), *inputs, deterministic=True)


def test_keys_of_several_hypotheses_stand_at_the_same_places():
    """As in a beam's cache, which holds more keys than there are places."""
    query, key = np.ones((1, T, Q)), np.ones((1, 2 * S, Q))
    place = np.repeat(np.arange(S), 2)[None]
    score = Location(max_length=S)
    at = Positions(np.arange(T)[None], place)
    logits, variables = jitted.init_with_output(score, jax.random.key(0), query, key, at)
    wanted = variables["params"]["weight"].sum(0)[place[0]]
    np.testing.assert_allclose(logits, np.broadcast_to(wanted, (1, T, 2 * S)), rtol=1e-6)
