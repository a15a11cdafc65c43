"""The linear map, as one product of two matrices."""

from functools import partial
from math import prod

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.sharding import PartitionSpec as P, auto_axes

from attnjax.nn.axes import explicit_axes
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
        summed = x.shape[-self.axes :]
        width, size = prod(summed), prod(self.features)

        def draw(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            return self.initializer(key, (width, size)).reshape(shape)

        kernel = self.param("kernel", draw, (*summed, *self.features))
        bias = self.param("bias", nn.initializers.zeros, self.features) if self.bias else None
        divided = explicit_axes(x)
        if divided is None and explicit_axes(kernel) is None:
            return _map(x, kernel, bias, self.axes)
        of_rows = (divided or (None,) * x.ndim)[: -self.axes]
        of_features = (explicit_axes(kernel) or (None,) * kernel.ndim)[self.axes :]
        # a product of flattened axes has no sharding that JAX could name
        out = P(*of_rows, *(None if axis in of_rows else axis for axis in of_features))
        return auto_axes(out_sharding=out)(partial(_map, axes=self.axes))(x, kernel, bias)


def _map(x: jax.Array, kernel: jax.Array, bias: jax.Array | None, axes: int) -> jax.Array:
    """Return x W + b, by the product of two matrices."""
    leading, width = x.shape[:-axes], prod(x.shape[-axes:])
    features = kernel.shape[axes:]
    size = prod(features)
    y = product("nk,km->nm", x.reshape(-1, width), kernel.reshape(width, size))
    if bias is not None:
        y = y + jnp.broadcast_to(bias.reshape(-1), y.shape)
    return y.reshape(*leading, *features)
