"""The soft cap of logits: its bounds, positions within, what it refuses."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.mask import Causal
from attnjax.attention.score.base import soft_cap
from attnjax.attention.score.bucketed import Bucketed
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.score.kernel import Boxcar
from attnjax.attention.score.positional import Alibi
from attnjax.errors import UserError
from tests.attention import oracle
from tests.attention.short import CAUSAL, D, T, called, drawn, initial


def test_a_soft_cap_bounds_logits_and_leaves_small_ones(float64):
    logits = jnp.array([-1e4, -3.0, 0.0, 1e-3, 7.0])[None]
    capped = soft_cap(logits, 5.0)
    np.testing.assert_allclose(capped, 5 * np.tanh(np.asarray(logits) / 5), atol=1e-12)
    assert (abs(capped) <= 5).all()
    np.testing.assert_allclose(capped[0, 3], 1e-3, rtol=1e-7)


def test_a_soft_cap_stands_around_positions_and_before_the_mask(float64):
    x = drawn()
    module = Attention(score=SoftCap(score=Alibi(), cap=1.5))
    context = called(module, {}, x, mask=Causal())
    for sentence, got in zip(np.asarray(x), context, strict=True):
        bias = -(2.0**-8) * abs(np.subtract.outer(np.arange(T), np.arange(T)))
        logits = 1.5 * np.tanh((oracle.scaled_dot(sentence, sentence) + bias) / 1.5)
        np.testing.assert_allclose(got, oracle.softmax(logits, CAUSAL) @ sentence, atol=1e-12)


@pytest.mark.parametrize("kind", [SoftCap, Bucketed])
def test_a_kernel_has_no_logits_to_change(kind):
    with pytest.raises(UserError, match=r"a kernel is none.*got Boxcar"):
        initial(Attention(score=kind(score=Boxcar(3.0))), jnp.zeros((1, T, D)))
