"""Encodings of positions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.position import Learned, NoPosition, Sinusoidal, sinusoidal
from attnjax.attention.score.positional import rotary
from attnjax.errors import UserError
from tests import jitted


def test_sinusoidal_is_the_papers():
    position, width = np.array([[0, 1, 7], [3, 40, 511]]), 6
    waves = jax.jit(sinusoidal, static_argnums=1)
    found = np.asarray(waves(position, width))
    for *place, p in ((0, 0, 0), (0, 1, 1), (0, 2, 7), (1, 0, 3), (1, 1, 40), (1, 2, 511)):
        for i in range(width // 2):
            angle = p / 10_000 ** (2 * i / width)
            pair = found[(*place, slice(2 * i, 2 * i + 2))]
            np.testing.assert_allclose(pair, [np.sin(angle), np.cos(angle)], atol=5e-5)
    # An odd width has one sine more.
    odd = np.asarray(waves(np.array([5]), 3))
    np.testing.assert_allclose(odd[0, 2], np.sin(5 / 10_000 ** (2 / 3)))


def test_a_shift_of_sinusoidal_is_a_rotation():
    # Vaswani et al. 2017, section 3.5: PE[p + k] is a linear function of PE[p], the same for all p.
    position, shift, width = np.arange(50), 9, 8
    read = jax.jit(sinusoidal, static_argnums=1)
    waves = np.asarray(read(position, width)).reshape(50, -1, 2)
    shifted = np.asarray(read(position + shift, width)).reshape(50, -1, 2)
    for i in range(width // 2):
        turn = shift / 10_000 ** (2 * i / width)
        rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        np.testing.assert_allclose(shifted[:, i], waves[:, i] @ rotation.T, atol=2e-5)


@pytest.mark.parametrize(
    "turned",
    [lambda x, at: sinusoidal(at, 4), lambda x, at: rotary(x, at)],
    ids=["sinusoidal", "rotary"],
)
def test_angles_are_no_products_of_matrices(turned):
    """A TPU rounds the operands of these to bfloat16: positions past 256 would be rounded."""
    traced = jax.make_jaxpr(turned)(jnp.zeros((1, 3, 4)), np.arange(3)[None])
    assert "dot_general" not in str(traced)


@pytest.mark.parametrize("part", [Sinusoidal(), Learned(max_length=9), NoPosition()])
def test_a_position_says_where_a_word_stands(part):
    words = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    whole, variables = jitted.init_with_output(part, jax.random.key(0), words, np.arange(3)[None])
    half = jax.tree.map(lambda x: jnp.asarray(x, jnp.bfloat16), (variables, words))
    assert jitted.apply(part, *half, np.arange(3)[None]).dtype == jnp.bfloat16
    # Any place of any row by its position alone, as a decoder asks.
    for t in range(3):
        alone = jitted.apply(part, variables, words[:, t : t + 1], np.full((2, 1), t))
        np.testing.assert_allclose(alone[:, 0], whole[:, t], atol=1e-6)
    added = whole - words
    np.testing.assert_allclose(added[0], added[1], atol=1e-6)
    assert np.allclose(added[0, 0], added[0, 1]) == isinstance(part, NoPosition)


def test_learned_refuses_a_longer_row():
    part = Learned(max_length=4)
    words = np.zeros((1, 4, 2))
    variables = jitted.init(part, jax.random.key(0), words, np.arange(4)[None])
    assert variables["params"]["embedding"].shape == (4, 2)
    with pytest.raises(ValueError, match="at most 4 positions are learned; got 5"):
        jitted.apply(part, variables, np.zeros((1, 5, 2)), np.arange(5)[None])


@pytest.mark.parametrize("outside", [-1, 4])
def test_learned_has_no_vector_outside_its_positions(outside):
    """Refused where the positions are known, else NaN: the last vector would be a wrong one."""
    part, words = Learned(max_length=4), np.zeros((1, 2, 2), np.float32)
    variables = jitted.init(part, jax.random.key(0), words, np.arange(2)[None])
    at = np.array([[3, outside]])
    for known in (at, jnp.asarray(at)):
        with pytest.raises(UserError, match=f"has positions 0 to 3; got {outside}"):
            part.apply(variables, words, known)
    found = jitted.apply(part, variables, words, at)
    np.testing.assert_array_equal(found[0, 0], variables["params"]["embedding"][3])
    assert np.isnan(found[0, 1]).all()
