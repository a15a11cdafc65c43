"""Where a word stands, added to its embedding."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.nn.length_limit import LengthLimited, MaxLength


class Position(nn.Module):
    """What every encoding of positions is: it takes embeddings and says where each stands."""

    def __call__(self, embedding: jax.Array, position: jax.Array) -> jax.Array:
        """Embedding [..., T, D], position [..., T], integers -> [..., T, D]."""
        raise NotImplementedError


def sinusoidal(position: jax.Array, width: int) -> jax.Array:
    """Waves: PE[p, 2i] = sin(p / 10000^(2i/D)), PE[p, 2i+1] = cos(p / 10000^(2i/D)).

    Args:
        position: integers [..., T].
        width: D.

    Returns:
        [..., T, D], float32.

    Source: Vaswani et al. 2017, section 3.5.
    """
    rate = 10_000.0 ** (-np.arange(0, width, 2) / width)
    angle = jnp.tensordot(position.astype(jnp.float32), rate.astype(np.float32), axes=0)
    waves = jnp.stack([jnp.sin(angle), jnp.cos(angle)], axis=-1)
    return waves.reshape(*position.shape, -1)[..., :width]


class Sinusoidal(Position):
    """`sinusoidal` as a part; no parameters, no greatest length."""

    def __call__(self, embedding: jax.Array, position: jax.Array) -> jax.Array:
        """Add the waves."""
        waves = sinusoidal(position, embedding.shape[-1]).astype(embedding.dtype)
        return embedding + jnp.broadcast_to(waves, embedding.shape)


class Learned(Position, LengthLimited):
    """A learned vector for each position, up to a greatest length.

    Attributes:
        max_length: the number of positions.

    Raises:
        UserError: a row is longer than that.

    Source: Gehring et al. 2017; Vaswani et al. 2017, Table 3 row E.
    """

    max_length: PositiveInt = 512

    @nn.nowrap
    def length_limit(self) -> MaxLength:
        return MaxLength(self.max_length, "max_length")

    @nn.compact
    def __call__(self, embedding: jax.Array, position: jax.Array) -> jax.Array:
        """Add each position's vector."""
        steps, width = embedding.shape[-2:]
        if steps > self.max_length:
            raise UserError(f"at most {self.max_length} positions are learned; got {steps}")
        normal = nn.initializers.normal(width**-0.5)
        table = self.param("embedding", normal, (self.max_length, width))
        return embedding + jnp.broadcast_to(table[position], embedding.shape)


class NoPosition(Position):
    """Nothing: attention then sees a bag of words."""

    def __call__(self, embedding: jax.Array, position: jax.Array) -> jax.Array:
        """Return the embedding itself."""
        return embedding
