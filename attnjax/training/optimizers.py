"""Learning rate schedules and optimisers, as parts over optax."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import optax

from attnjax.config.constraints import (
    DropoutRate,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A learning rate for every step. A part: subclasses are chosen on the command line."""

    def rate(self, step: Any) -> jax.Array:
        """The learning rate of the step-th update; the first is step 1."""
        raise NotImplementedError


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


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """How gradients change parameters. A part: subclasses are chosen on the command line.

    Attributes:
        schedule: the learning rate.
        clip: a gradient (of the mean over tokens) with a larger global norm is scaled down to it
            before anything else (Pascanu et al. 2013, algorithm 1); None: never.
    """

    schedule: Schedule = field(default_factory=Noam)
    clip: PositiveFloat | None = None

    def make(self) -> optax.GradientTransformation:
        """What optax takes."""
        return optax.chain(
            optax.identity() if self.clip is None else optax.clip_by_global_norm(self.clip),
            self.scaling(),
            # optax counts from 0, the papers' formulae from 1
            optax.scale_by_learning_rate(lambda count: self.schedule.rate(count + 1)),
        )

    def scaling(self) -> optax.GradientTransformation:
        """What is done to gradients before the learning rate."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """Adam with the constants of Vaswani et al. 2017, section 5.3.

    Attributes:
        b1: beta_1.
        b2: beta_2.
        epsilon: added to the root of the second moment.

    Source: Kingma and Ba 2015, algorithm 1.
    """

    b1: DropoutRate = 0.9
    b2: DropoutRate = 0.98
    epsilon: PositiveFloat = 1e-9

    def scaling(self) -> optax.GradientTransformation:
        return optax.scale_by_adam(b1=self.b1, b2=self.b2, eps=self.epsilon)


@dataclass(frozen=True, kw_only=True)
class Adadelta(Optimizer):
    """Adadelta with the constants of Bahdanau et al. 2015, appendix B.2, and a rate of 1.

    Attributes:
        rho: the decay of both running means.
        epsilon: added to both.

    Source: Zeiler 2012, algorithm 1.
    """

    schedule: Schedule = field(default_factory=lambda: Constant(value=1.0))
    rho: DropoutRate = 0.95
    epsilon: PositiveFloat = 1e-6

    def scaling(self) -> optax.GradientTransformation:
        return optax.scale_by_adadelta(rho=self.rho, eps=self.epsilon)


@dataclass(frozen=True, kw_only=True)
class GradientDescent(Optimizer):
    """The gradient itself, without momentum."""

    def scaling(self) -> optax.GradientTransformation:
        return optax.identity()
