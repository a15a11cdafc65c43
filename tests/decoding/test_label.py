"""The search of a classifier against the plain argmax over labels."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.special_tokens import PAD, START
from attnjax.decoding.label import Label

LABELS = 5


def search(logits, limit, length=3):
    """What is found when the decoder's one step gives these logits."""

    @partial(jax.jit, static_argnums=2)
    def both(logits, limit, length):
        state = Label().init(limit, length, jnp.arange(len(limit)))
        after, _ = Label().advance(state, logits[:, None], jnp.int32(0))
        return state.last, after.active, Label().finalize(after)

    last, active, found = jax.device_get(both(logits, np.array(limit), length))
    assert (last == START).all()
    assert not active.any()
    return found


def test_the_most_probable_label():
    logits = np.random.default_rng(0).normal(size=(20, 4 + LABELS)).astype(np.float32)
    logits[:10, :4] += 9  # PAD, START, END and UNKNOWN are no labels, however probable
    found = search(logits, [1] * 20)
    assert found.tokens.shape == (20, 1, 3)
    np.testing.assert_array_equal(found.tokens[:, 0, 0], 4 + logits[:, 4:].argmax(-1))
    assert (found.tokens[:, :, 1:] == PAD).all()
    exact = logits.astype(np.float64)
    exact -= np.log(np.exp(exact).sum(-1, keepdims=True))
    np.testing.assert_allclose(found.scores[:, 0], exact[:, 4:].max(-1), rtol=1e-5)


def test_filler_has_no_label():
    found = search(np.zeros((2, 4 + LABELS), np.float32), [0, 7], length=1)
    np.testing.assert_array_equal(found.tokens[:, 0], [[PAD], [4]])
    np.testing.assert_allclose(found.scores[:, 0], [-np.inf, -np.log(4 + LABELS)], rtol=1e-6)


def test_logits_of_half_precision_give_scores_in_float32():
    logits = jnp.asarray([[0, 0, 0, 0, 1, 2]], jnp.bfloat16)
    found = search(logits, [1])
    assert found.scores.dtype == jnp.float32
    wanted = 2 - np.log(np.exp([0, 0, 0, 0, 1, 2]).sum())
    np.testing.assert_allclose(found.scores[0, 0], wanted, rtol=1e-6)
