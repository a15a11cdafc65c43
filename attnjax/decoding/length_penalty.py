"""Length penalties: divisors of log-probabilities, so that short hypotheses are not favored."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnjax.config.constraints import NonNegativeFloat

Length = Int[Array, "*L"] | int


@dataclass(frozen=True, kw_only=True)
class LengthPenalty(ABC):
    """score(Y) = log p(Y | X) / divisor(|Y|), where |Y| counts the end symbol.

    A part: subclasses are chosen on the command line.
    """

    @abstractmethod
    def divisor(self, length: Length) -> Float[Array, "*L"]:
        """Return the divisor of log p, in float32, for hypotheses of |Y| >= 1 words."""


@dataclass(frozen=True, kw_only=True)
class NoPenalty(LengthPenalty):
    """score(Y) = log p(Y | X)."""

    def divisor(self, length: Length) -> Array:
        return jnp.ones(jnp.shape(length), jnp.float32)


@dataclass(frozen=True, kw_only=True)
class Power(LengthPenalty):
    """divisor = |Y|^alpha: fairseq's ``--lenpen``. 1 gives the mean log-probability a word."""

    alpha: NonNegativeFloat = 1.0

    def divisor(self, length: Length) -> Array:
        return jnp.asarray(length, jnp.float32) ** self.alpha


@dataclass(frozen=True, kw_only=True)
class GNMT(LengthPenalty):
    """divisor = ((5 + |Y|) / 6)^alpha. Wu et al. 2016, eq. 14; Vaswani et al. 2017 take 0.6."""

    alpha: NonNegativeFloat = 0.6

    def divisor(self, length: Length) -> Array:
        return ((5.0 + jnp.asarray(length, jnp.float32)) / 6.0) ** self.alpha
