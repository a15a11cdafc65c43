"""The linear map, as one product of two matrices."""

from math import prod

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.nn.product import product


class Dense(nn.Module):
    """Linear map y = x W + b over the last axes.

    The leading axes are flattened before the product: otherwise XLA's backward pass on a CPU takes
    1.5 times as long. W is initialized as a matrix [fan-in, fan-out], b as 0.

    Attributes:
        features: the last axes of the result, which replace the input's.
        axes: the number of the input's last axes that are summed over.
        bias: whether to add b.
        initializer: of W; Glorot & Bengio 2010, eq. 16, by default.
    """

    features: tuple[int, ...]
    axes: int = 1
    bias: bool = True
    initializer: nn.initializers.Initializer = nn.initializers.glorot_uniform()

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Map [..., *axes] -> [..., *features]."""
        leading, summed = x.shape[: -self.axes], x.shape[-self.axes :]
        width, size = prod(summed), prod(self.features)

        def draw(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            return self.initializer(key, (width, size)).reshape(shape)

        kernel = self.param("kernel", draw, (*summed, *self.features))
        y = product("nk,km->nm", x.reshape(-1, width), kernel.reshape(width, size))
        if self.bias:
            bias = self.param("bias", nn.initializers.zeros, self.features)
            y = y + jnp.broadcast_to(bias.reshape(-1), y.shape)
        return y.reshape(*leading, *self.features)
