"""Normalizations of a vector, as parts: layer norm, RMS norm, none."""

from abc import ABC, abstractmethod

import jax
from flax import linen as nn

from attnjax.config.constraints import PositiveFloat


class Norm(nn.Module, ABC):
    """A normalization of vectors. A part: subclasses are chosen on the command line."""

    @abstractmethod
    def __call__(self, x: jax.Array) -> jax.Array:
        """[..., D] -> [..., D]."""


class LayerNorm(Norm):
    """y = (x - mean(x)) / sqrt(var(x) + epsilon) * scale + bias, over the D features of a vector.

    Attributes:
        epsilon: added to the variance.

    Source: Ba et al. 2016, eq. 4.
    """

    epsilon: PositiveFloat = 1e-6

    def setup(self) -> None:
        """Take Flax's layer norm, whose parameters are this part's own."""
        self.formula = nn.LayerNorm(epsilon=self.epsilon)
        nn.share_scope(self, self.formula)

    def __call__(self, x: jax.Array) -> jax.Array:
        """[..., D] -> [..., D]."""
        return self.formula(x)


class RMSNorm(Norm):
    """y = x / sqrt(mean(x^2) + epsilon) * scale, over the D features of a vector.

    Nothing is subtracted and there is no bias.

    Attributes:
        epsilon: added to the mean square.

    Source: Zhang and Sennrich 2019, eq. 4.
    """

    epsilon: PositiveFloat = 1e-6

    def setup(self) -> None:
        """Take Flax's RMS norm, whose parameters are this part's own."""
        self.formula = nn.RMSNorm(epsilon=self.epsilon)
        nn.share_scope(self, self.formula)

    def __call__(self, x: jax.Array) -> jax.Array:
        """[..., D] -> [..., D]."""
        return self.formula(x)


class NoNorm(Norm):
    """y = x."""

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return x itself."""
        return x
