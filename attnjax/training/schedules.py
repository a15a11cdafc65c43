"""Learning rate schedules: the rate of every update."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.config.constraints import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt


@dataclass(frozen=True, kw_only=True)
class Schedule(ABC):
    """A learning rate for every step. A part: subclasses are chosen on the command line.

    A rate depends on the step alone, never on how many steps a training has: a training that is
    lengthened goes on as if it had always been longer.
    """

    @abstractmethod
    def rate(self, step: Any) -> jax.Array:
        """Return the learning rate of update `step`, from 1, in the shape of `step`."""


@dataclass(frozen=True, kw_only=True)
class Constant(Schedule):
    """The same rate at every step."""

    value: PositiveFloat = 1e-3

    def rate(self, step: Any) -> jax.Array:
        return jnp.full(jnp.shape(step), self.value)


@dataclass(frozen=True, kw_only=True)
class Noam(Schedule):
    """factor * width^-0.5 * min(step^-0.5, step * warmup^-1.5).

    Source: Vaswani et al. 2017, equation 3.
    """

    width: PositiveInt = 512
    warmup: PositiveInt = 4000
    factor: PositiveFloat = 1.0

    def rate(self, step: Any) -> jax.Array:
        step = jnp.asarray(step, jnp.float32)
        return self.factor * self.width**-0.5 * jnp.minimum(step**-0.5, step * self.warmup**-1.5)


@dataclass(frozen=True, kw_only=True)
class InverseSquareRoot(Schedule):
    """start + (peak - start) * step / warmup up to warmup, then peak * sqrt(warmup / step).

    Source: fairseq's inverse_sqrt; its --lr is peak, --warmup-updates warmup, --warmup-init-lr
    start.
    """

    peak: PositiveFloat = 5e-4
    warmup: PositiveInt = 4000
    start: NonNegativeFloat = 1e-7

    def rate(self, step: Any) -> jax.Array:
        step = jnp.asarray(step, jnp.float32)
        rising = self.start + (self.peak - self.start) * step / self.warmup
        falling = self.peak * jnp.sqrt(self.warmup / step)
        return jnp.where(step < self.warmup, rising, falling)


@dataclass(frozen=True, kw_only=True)
class Cosine(Schedule):
    """peak * step / warmup up to warmup, from there peak * (1 + cos(pi * done)) / 2 down to 0.

    done = (step - warmup) / decay; after warmup + decay updates the rate stays 0.

    Source: Loshchilov and Hutter 2017, equation 5, without restarts.
    """

    peak: PositiveFloat = 1e-3
    warmup: PositiveInt = 1_000
    decay: PositiveInt = 9_000

    def rate(self, step: Any) -> jax.Array:
        step = jnp.asarray(step, jnp.float32)
        rising = self.peak * step / self.warmup
        done = jnp.clip((step - self.warmup) / self.decay, 0.0, 1.0)
        return jnp.where(step < self.warmup, rising, self.peak * (1.0 + jnp.cos(jnp.pi * done)) / 2)


@dataclass(frozen=True, kw_only=True)
class Halving(Schedule):
    """value, and from the update `after` on half of it, halved again at each `every` more.

    Source: Sutskever et al. 2014, section 3.4; Luong et al. 2015, section 4.1. Both count epochs.
    """

    value: PositiveFloat = 1.0
    after: NonNegativeInt = 10_000
    every: PositiveInt = 1_000

    def rate(self, step: Any) -> jax.Array:
        past = jnp.maximum(jnp.asarray(step, jnp.float32) - self.after, -1.0)
        return self.value * 0.5 ** (1 + past // self.every)
