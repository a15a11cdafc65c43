"""The captioner: against the paper's equations, step against scan, filler, its attention."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.local import LocalMonotonic
from attnjax.attention.align.one_hot import Hard
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.score.base import Additive
from attnjax.errors import UserError
from attnjax.models.captioner import Captioner, Convolutions
from attnjax.models.rnn_cells import GRUResetBefore
from tests import jitted
from tests.models import caption_oracle
from tests.models.stepwise import stepped_and_parallel

B, SIDE, T, WORDS, PATCHES = 3, 7, 4, 9, 9
BLOCKS = ((3, 2), (4,))
MODEL = Captioner(width=4, embedding=3, encoder=Convolutions(BLOCKS)).with_vocabularies(None, WORDS)
IMAGES = np.random.default_rng(0).random((B, SIDE, SIDE, 3))
GIVEN = np.random.default_rng(1).integers(4, WORDS, (B, T))


def drawn(model: Captioner) -> Any:
    """Parameters without a zero, float64."""
    start = functools.partial(model.init, deterministic=True, mutable=["params"])
    shapes = jax.eval_shape(start, jax.random.key(0), IMAGES, GIVEN)["params"]
    draw = np.random.default_rng(2)
    return jax.tree.map(lambda leaf: draw.normal(0, 0.5, leaf.shape), shapes)


def test_equals_the_oracle_with_gradients(float64):
    params = drawn(MODEL)
    random = np.random.default_rng(3)
    direction = random.normal(size=(B, T, WORDS))

    @jax.jit
    def read(params):
        def loss(params):
            logits = MODEL.apply({"params": params}, IMAGES, GIVEN, deterministic=True)
            return (logits * direction).sum(), logits

        slopes, logits = jax.grad(loss, has_aux=True)(params)
        return slopes, logits, MODEL.alignment(params, IMAGES, GIVEN)

    slopes, logits, weights = read(params)

    def expected(params):
        found = [
            caption_oracle.captioner(params, *row, BLOCKS)
            for row in zip(IMAGES, GIVEN, strict=True)
        ]
        return tuple(map(np.array, zip(*found, strict=True)))

    for found, wanted in zip((logits, weights), expected(params), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    # One random direction through all parameters at once reads all of the gradient.
    way = jax.tree.map(lambda p: random.normal(size=p.shape), params)
    moved = jax.tree.map(lambda p, w: p + 1e-30j * w, params, way)
    slope = (expected(moved)[0] * direction).sum().imag / 1e-30
    found = sum(jax.tree.leaves(jax.tree.map(lambda g, w: (g * w).sum(), slopes, way)))
    assert found == pytest.approx(slope, rel=1e-10)


@pytest.mark.parametrize(
    "model",
    [MODEL, MODEL.clone(cell=GRUResetBefore(), attention=MultiHead(head=Attention(), heads=2))],
    ids=["paper", "other parts"],
)
def test_one_word_at_a_time_is_all_at_once(model, float64):
    params = drawn(model)
    stepped, parallel = stepped_and_parallel(model, params, IMAGES, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)
    weights = jitted.call(model, "alignment", params, IMAGES, GIVEN)
    assert weights.shape == (B, T, PATCHES)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-12)


def test_a_window_goes_on_with_the_words(float64):
    model = MODEL.clone(attention=Attention(score=Additive(), align=LocalMonotonic(reach=1)))
    weights = jitted.call(model, "alignment", drawn(model), IMAGES, GIVEN)
    far = abs(np.arange(T)[:, None] - np.arange(PATCHES)) > 1
    assert not weights[:, far].any()
    assert weights[:, ~far].all()


def test_filler_is_harmless_and_looks_at_nothing():
    params = jax.tree.map(np.float32, drawn(MODEL))
    images = np.float32(np.concatenate([IMAGES, np.full_like(IMAGES[:1], np.nan)]))
    given = np.concatenate([GIVEN, np.zeros_like(GIVEN[:1])])

    def logits(params, images, given):
        return jitted.apply(MODEL, {"params": params}, images, given, deterministic=True)

    @jax.jit
    def read(params):
        def loss(params):
            found = logits(params, images, given)
            return found.sum(), found

        weights = MODEL.alignment(params, images, given)
        return jax.grad(loss, has_aux=True)(params), logits(params, images[:B], given[:B]), weights

    (slopes, found), alone, weights = jax.device_get(read(params))
    for leaf in jax.tree.leaves((slopes, found)):
        assert np.isfinite(leaf).all()
    assert not np.any(weights[B])
    np.testing.assert_allclose(found[:B], alone, atol=1e-5)


def test_dropout_and_draws_come_from_their_streams():
    model = MODEL.clone(dropout=0.5, attention=Attention(score=Additive(), align=Hard(0.0)))
    params = jax.tree.map(np.float32, drawn(model))

    @jax.jit
    def read(dropout, sample):
        (hidden, _), seen = model.apply(
            {"params": params},
            IMAGES,
            GIVEN,
            deterministic=False,
            rngs={"dropout": dropout, "sample": sample},
            method="features",
            mutable=["attention", "objective"],
        )
        (weights,) = seen["attention"]["attention"]["weights"]
        (logs,) = seen["objective"]["attention"]["align"]["log_probability"]
        return hidden, weights[:, :, 0], logs

    one, two = jax.random.split(jax.random.key(0))
    hidden, weights, logs = jax.device_get(read(one, one))
    assert 0.2 < (np.asarray(hidden) == 0).mean() < 0.8
    assert weights.shape == (B, T, PATCHES)
    assert logs.shape == (B, T, 1)
    assert (np.sort(weights)[..., :-1] == 0).all()
    np.testing.assert_array_equal(read(two, one)[1], weights)
    assert (np.asarray(read(one, two)[1]) != weights).any()


def test_by_default_it_sees_the_patches_of_the_paper():
    images = jax.ShapeDtypeStruct((2, 224, 224, 3), jnp.float32)
    shape = jax.eval_shape(Convolutions().init_with_output, jax.random.key(0), images)[0].shape
    assert shape == (2, 14, 14, 512)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(UserError, match="wants a vocabulary of target; got 12 source and 9"):
        Captioner().with_vocabularies(12, WORDS)
    with pytest.raises(ValueError, match="vocabularies must be numbers"):
        jax.eval_shape(
            lambda: Captioner().init(jax.random.key(0), IMAGES, GIVEN, deterministic=True)
        )
