"""What a hypothesis' log-probability is divided by, so that short ones are not always best."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from attnjax.config.constraints import NonNegativeFloat


@dataclass(frozen=True, kw_only=True)
class LengthPenalty:
    """score(Y) = log p(Y | X) / divisor(|Y|), where |Y| counts the end symbol."""

    def divisor(self, length: jax.Array | int) -> jax.Array:
        """What log p is divided by, float32, in the shape of `length`.

        Args:
            length: symbols of the hypothesis, the end symbol counted; at least 1.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NoPenalty(LengthPenalty):
    """log p itself."""

    def divisor(self, length: jax.Array | int) -> jax.Array:
        return jnp.ones(jnp.shape(length), jnp.float32)


@dataclass(frozen=True, kw_only=True)
class Power(LengthPenalty):
    """|Y|^alpha: fairseq's ``--lenpen`` alpha; 1 is the mean log-probability of a symbol."""

    alpha: NonNegativeFloat = 1.0

    def divisor(self, length: jax.Array | int) -> jax.Array:
        return jnp.asarray(length, jnp.float32) ** self.alpha


@dataclass(frozen=True, kw_only=True)
class GNMT(LengthPenalty):
    """((5 + |Y|) / 6)^alpha. Wu et al. 2016, equation 14; alpha 0.6 is Vaswani et al. 2017's."""

    alpha: NonNegativeFloat = 0.6

    def divisor(self, length: jax.Array | int) -> jax.Array:
        return ((5.0 + jnp.asarray(length, jnp.float32)) / 6.0) ** self.alpha
