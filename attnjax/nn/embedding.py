"""The rows of a table for words; a row's gradient is a sum over all positions of its word."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from attnjax.nn.dtypes import wide
from attnjax.nn.platform import platforms

MULTIPLIED = 2_000
"""The largest N^2 / V, for N positions, at which a chip sums a word's gradients by a product.

The product takes 2 N^2 D operations. It saves the table in
float32, which is written, read and rounded: about 16 V D bytes. While it moves a byte, a TPU v5e
does 240 operations, an H100 295.
"""


def lookup(table: Float[Array, "V D"], words: Integer[Array, "*B"]) -> Float[Array, "*B D"]:
    """Return table[words]; the gradient is summed in float32 or wider, and then rounded once.

    The sum of thousands of equal numbers in bfloat16 ends at 256 of them: the next one is less than
    half a unit in the last place. A frequent word would learn from a part of its positions.

    Words are from 0 to V - 1; the result is of the table's dtype.
    """
    if table.dtype == wide(table):
        return table[words]
    return _lookup(table, words)


@jax.custom_vjp
def _lookup(table: jax.Array, words: jax.Array) -> jax.Array:
    return table[words]


def _forward(table: jax.Array, words: jax.Array):
    return table[words], (table, words)


def _backward(kept: tuple[jax.Array, jax.Array], gradient: jax.Array):
    table, words = kept
    words, gradient = words.reshape(-1), gradient.reshape(-1, table.shape[-1])
    if "cpu" not in platforms() and words.size**2 <= MULTIPLIED * len(table):
        # every position has the sum over all positions of its word, so any of them may be kept
        same = (words[:, None] == words[None]).astype(gradient.dtype)
        total = jnp.matmul(same, gradient, preferred_element_type=wide(table))
        return jnp.zeros_like(table).at[words].set(total.astype(table.dtype)), None
    total = jnp.zeros(table.shape, wide(table)).at[words].add(gradient.astype(wide(table)))
    return total.astype(table.dtype), None


_lookup.defvjp(_forward, _backward)
