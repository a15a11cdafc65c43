"""Normalizations as parts: layer norm, RMS norm, batch norm, none.

A batch norm has running statistics, which are parameters. What `jax.grad` gives for one is the step
of its moving average, and `parameter_kinds.keep_untrained` takes that step.
"""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Bool, Float

from attnjax.config.constraints import DropoutRate, PositiveFloat
from attnjax.nn.axes import DATA, inside
from attnjax.nn.dtypes import widen
from attnjax.nn.parameter_kinds import Kind, declare

declare(Kind.RUNNING, "running_mean", "running_variance")

Vectors = Float[Array, "*B D"]
Valid = Bool[Array, "*B"]


class Norm(nn.Module, ABC):
    """A normalization of vectors."""

    over_batch: ClassVar[bool] = False
    """Whether, in training, a vector's result depends on the other examples of the batch."""

    @abstractmethod
    def __call__(self, x: Vectors, valid: Valid | None = None) -> Vectors:
        """Normalize the vectors.

        `valid` marks those that are not padding in training; it is None in evaluation.
        """


class VectorNorm(Norm):
    """A norm of each vector by itself: one of Flax's, whose parameters are this part's own."""

    epsilon: PositiveFloat = 1e-6

    @abstractmethod
    def flax_norm(self) -> nn.Module:
        """Return Flax's norm, unbound."""

    @nn.compact
    def __call__(self, x: Vectors, valid: Valid | None = None) -> Vectors:
        formula = self.flax_norm()
        nn.share_scope(self, formula)
        return formula(x)


class LayerNorm(VectorNorm):
    """y = (x - mean(x)) / sqrt(var(x) + epsilon) * scale + bias, over the D features of a vector.

    Source: Ba et al. 2016, eq. 4.
    """

    def flax_norm(self) -> nn.Module:
        return nn.LayerNorm(epsilon=self.epsilon, use_fast_variance=False)


class RMSNorm(VectorNorm):
    """y = x / sqrt(mean(x^2) + epsilon) * scale, over the D features of a vector.

    Nothing is subtracted and there is no bias.

    Source: Zhang and Sennrich 2019, eq. 4.
    """

    def flax_norm(self) -> nn.Module:
        return nn.RMSNorm(epsilon=self.epsilon)


class Moments(NamedTuple):
    """Mean and variance of each feature, [D]."""

    mean: jax.Array
    variance: jax.Array


class BatchNorm(Norm):
    """y = (x - mean) / sqrt(variance + epsilon) * scale + bias, over all vectors of a batch.

    In training mean and variance, [D], are those of the global batch, over all devices; padding
    does not count. In evaluation and search they are the running ones, which training moves at
    every update:

        running = momentum * running + (1 - momentum) * batch

    Source: Ioffe and Szegedy 2015, algorithm 1 and section 3.1; the variance is the batch's own,
        without the factor n / (n - 1).
    """

    over_batch = True

    momentum: DropoutRate = 0.9
    epsilon: PositiveFloat = 1e-6

    @nn.compact
    def __call__(self, x: Vectors, valid: Valid | None = None) -> Vectors:
        width = x.shape[-1:]
        running = Moments(
            self.param("running_mean", nn.initializers.zeros, width),
            self.param("running_variance", nn.initializers.ones, width),
        )
        scale = self.param("scale", nn.initializers.ones, width)
        bias = self.param("bias", nn.initializers.zeros, width)
        wide = widen(x)
        if valid is None:
            moments = running
        else:
            moments = _observed(1 - self.momentum, batch_moments(wide, valid), running)
        factor = jax.lax.rsqrt(moments.variance + self.epsilon) * scale
        rows = wide.reshape(-1, *width)
        y = (rows - moments.mean[None]) * factor[None] + bias[None]
        return y.reshape(x.shape).astype(x.dtype)


def batch_moments(x: Vectors, valid: Valid) -> Moments:
    """Return the moments of the valid vectors, in float32 or wider, over all devices."""
    rows, valid = x.reshape(-1, x.shape[-1]), valid.reshape(-1, 1)
    total = jnp.where(valid, rows, 0).sum(0)
    total, number = _sum_over_devices((total, valid.astype(x.dtype).sum()))
    number = jnp.maximum(number, 1)
    # Around 0 the squares of a large mean would swallow the variance. No gradient flows to the
    # point around which the moments are taken: it moves neither of them.
    center = jax.lax.stop_gradient(total / number)
    rows = jnp.where(valid, rows - center[None], 0)
    total, squares = _sum_over_devices((rows.sum(0), (rows**2).sum(0)))
    mean = total / number
    return Moments(center + mean, jnp.maximum(squares / number - mean**2, 0))


def _sum_over_devices[T](sums: T) -> T:
    """Add the sums of all devices' batches."""
    return jax.lax.psum(sums, DATA) if inside(DATA) else sums


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _observed(rate: float, batch: Moments, running: Moments) -> Moments:
    """Return the batch's moments; the running ones' gradient is the step of their average.

    Summed up over the devices that gradient is rate * (running - batch).
    """
    return batch


def _observe(rate: float, batch: Moments, running: Moments) -> tuple[Moments, Any]:
    return batch, (batch, running)


def _step(rate: float, moments: Any, gradient: Moments) -> tuple[Moments, Moments]:
    batch, running = moments
    share = rate / _sum_over_devices(1)
    step = jax.tree.map(lambda new, old: (share * (old - new)).astype(old.dtype), batch, running)
    return gradient, step


_observed.defvjp(_observe, _step)


class NoNorm(Norm):
    """y = x."""

    def __call__(self, x: Vectors, valid: Valid | None = None) -> Vectors:
        return x
