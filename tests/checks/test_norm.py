"""Norms of attnjax have every property; a norm with a planted mistake is found out by its name."""

import jax
import jax.numpy as jnp
import pytest

from attnjax.checks import check_norm
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

    def __call__(self, x, counted=None):
        mean = x.mean(-1, keepdims=True)
        variance = (x**2).mean(-1, keepdims=True) - mean**2
        return (x - mean) * jax.lax.rsqrt(jnp.maximum(variance, 0) + 1e-6)


class Narrow(Norm):
    """A layer norm in the dtype of the vectors."""

    def __call__(self, x, counted=None):
        centered = x - jnp.cumsum(x, -1)[..., -1:] / x.shape[-1]
        return centered * jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-6)


class Broken(Norm):
    """A norm that fails."""

    def __call__(self, x, counted=None):
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("norm", "failed"),
    [
        (Cancelling(), "an offset costs no accuracy"),
        (Narrow(), "the same in half precision"),
        (Broken(), "can be called"),
    ],
    ids=lambda value: getattr(type(value), "__name__", value),
)
def test_a_mistake_is_found_by_name(norm, failed):
    assert failed in {finding.property for finding in check_norm(norm) if finding.problem}
