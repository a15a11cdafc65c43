"""The soft cap of logits: its bounds, what it refuses."""

import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.score.base import soft_cap
from attnjax.attention.score.bucketed import Bucketed
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.score.kernel import Boxcar
from attnjax.errors import UserError
from tests.attention.short import D, T, initial


def test_a_soft_cap_bounds_logits_and_leaves_small_ones(float64):
    logits = jnp.array([-1e4, -3.0, 0.0, 1e-3, 7.0])[None]
    capped = soft_cap(logits, 5.0)
    np.testing.assert_allclose(capped, 5 * np.tanh(np.asarray(logits) / 5), atol=1e-12)
    assert (abs(capped) <= 5).all()
    np.testing.assert_allclose(capped[0, 3], 1e-3, rtol=1e-7)


@pytest.mark.parametrize("kind", [SoftCap, Bucketed])
def test_a_kernel_has_no_logits_to_change(kind):
    with pytest.raises(UserError, match=r"a kernel is none.*got Boxcar"):
        initial(Attention(score=kind(score=Boxcar(3.0))), jnp.zeros((1, T, D)))
