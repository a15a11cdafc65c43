"""The one linear map everything shares."""

from math import prod

import jax
import jax.numpy as jnp
from flax import linen as nn


class Dense(nn.Module):
    """y = x W + b over the last axes, as one product of two matrices.

    The leading axes are flattened first: left as they are, XLA's CPU backward pass takes
    1.5 times as long.

    W starts as `initializer` makes a [fan-in, fan-out] matrix, b as 0.

    Attributes:
        features: the axes of the result that replace those of the input.
        axes: how many of the input's last axes are summed over.
        bias: whether there is a b.
        initializer: of W; Glorot & Bengio 2010, eq. 16, by default.
    """

    features: tuple[int, ...]
    axes: int = 1
    bias: bool = True
    initializer: nn.initializers.Initializer = nn.initializers.glorot_uniform()

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[..., *axes] -> [..., *features]."""
        leading, summed = x.shape[: -self.axes], x.shape[-self.axes :]
        width, size = prod(summed), prod(self.features)

        def initial(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            return self.initializer(key, (width, size)).reshape(shape)

        kernel = self.param("kernel", initial, (*summed, *self.features))
        y = x.reshape(-1, width) @ kernel.reshape(width, size)
        if self.bias:
            bias = self.param("bias", nn.initializers.zeros, self.features)
            y = y + jnp.broadcast_to(bias.reshape(-1), y.shape)
        return y.reshape(*leading, *self.features)
