"""Norms of attnjax have every property; a norm with a planted mistake is found out by its name."""

import jax
import jax.numpy as jnp
import pytest
from flax import linen as nn

from attnjax.lab.checks import check_norm
from attnjax.nn.norm import BatchNorm, LayerNorm, NoNorm, Norm, RMSNorm


@pytest.mark.parametrize(
    "norm", [LayerNorm(), RMSNorm(), BatchNorm(), NoNorm()], ids=lambda norm: type(norm).__name__
)
def test_norms_of_attnjax_have_every_property(norm):
    findings = check_norm(norm)
    assert len(findings) == 2
    assert not [finding for finding in findings if finding.problem]


class Cancelling(Norm):
    """A layer norm whose variance is a difference of large numbers."""

    def __call__(self, x, valid=None):
        mean = x.mean(-1, keepdims=True)
        variance = (x**2).mean(-1, keepdims=True) - mean**2
        return (x - mean) * jax.lax.rsqrt(jnp.maximum(variance, 0) + 1e-6)


class Narrow(Norm):
    """A layer norm in the dtype of the vectors."""

    def __call__(self, x, valid=None):
        centered = x - jnp.cumsum(x, -1)[..., -1:] / x.shape[-1]
        return centered * jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-6)


class CancellingLater(Norm):
    """A layer norm that is mixed with another by a share that is 0 at first."""

    @nn.compact
    def __call__(self, x, valid=None):
        share = self.param("share", nn.initializers.zeros, ())
        return (1 - share) * LayerNorm()(x) + share * Cancelling()(x)


class Broken(Norm):
    """A norm that fails."""

    def __call__(self, x, valid=None):
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("norm", "failed"),
    [
        (Cancelling(), "an offset costs no accuracy"),
        (Narrow(), "the same in half precision"),
        (CancellingLater(), "an offset costs no accuracy"),
        (Broken(), "can be called"),
    ],
    ids=lambda value: getattr(type(value), "__name__", value),
)
def test_a_mistake_is_found_by_name(norm, failed):
    assert failed in {finding.property for finding in check_norm(norm) if finding.problem}
