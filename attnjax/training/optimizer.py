"""Learning rate schedules and Adam, as parts over optax."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import optax


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A learning rate for every step. A part: subclasses are chosen on the command line."""

    def rate(self, step: Any) -> jax.Array:
        """The learning rate of the step-th update; the first is step 1."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Constant(Schedule):
    """The same rate at every step."""

    value: float = 1e-3

    def rate(self, step: Any) -> jax.Array:
        return jnp.full(jnp.shape(step), self.value)


@dataclass(frozen=True, kw_only=True)
class Noam(Schedule):
    """factor * width^-0.5 * min(step^-0.5, step * warmup^-1.5).

    Source: Vaswani et al. 2017, equation 3.
    """

    width: int = 512
    warmup: int = 4000
    factor: float = 1.0

    def rate(self, step: Any) -> jax.Array:
        step = jnp.asarray(step, jnp.float32)
        return self.factor * self.width**-0.5 * jnp.minimum(step**-0.5, step * self.warmup**-1.5)


@dataclass(frozen=True, kw_only=True)
class InverseSquareRoot(Schedule):
    """start + (peak - start) * step / warmup up to warmup, then peak * sqrt(warmup / step).

    Source: fairseq's inverse_sqrt; its --lr is peak, --warmup-updates warmup, --warmup-init-lr
    start.
    """

    peak: float = 5e-4
    warmup: int = 4000
    start: float = 1e-7

    def rate(self, step: Any) -> jax.Array:
        step = jnp.asarray(step, jnp.float32)
        rising = self.start + (self.peak - self.start) * step / self.warmup
        falling = self.peak * jnp.sqrt(self.warmup / step)
        return jnp.where(step < self.warmup, rising, falling)


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """How gradients change parameters. A part: subclasses are chosen on the command line.

    Attributes:
        schedule: the learning rate.
    """

    schedule: Schedule = field(default_factory=Noam)

    def make(self) -> optax.GradientTransformation:
        """What optax takes."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """Adam with the constants of Vaswani et al. 2017, section 5.3.

    Attributes:
        b1: beta_1.
        b2: beta_2.
        epsilon: added to the root of the second moment.
        clip: a gradient (of the mean over tokens) with a larger global norm is scaled down to it
            before Adam sees it (Pascanu et al. 2013, algorithm 1); None: never.

    Source: Kingma and Ba 2015, algorithm 1.
    """

    b1: float = 0.9
    b2: float = 0.98
    epsilon: float = 1e-9
    clip: float | None = None

    def make(self) -> optax.GradientTransformation:
        return optax.chain(
            optax.identity() if self.clip is None else optax.clip_by_global_norm(self.clip),
            optax.scale_by_adam(b1=self.b1, b2=self.b2, eps=self.epsilon),
            # optax counts from 0, the papers' formulae from 1
            optax.scale_by_learning_rate(lambda count: self.schedule.rate(count + 1)),
        )
