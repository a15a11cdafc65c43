"""The product of two matrices, whose operands training may round to bfloat16.

A TPU rounds them by default, a GPU where JAX's context asks for it. XLA's compiler for CPUs ignores
the context: for a CPU they are rounded here, and laid out as units for bfloat16 read them. One
without the units computes the same products in float32, which saves no time.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import partial

import jax
import jax.numpy as jnp
from jax.experimental.layout import Layout, with_layout_constraint

from attnjax.nn.platform import platforms

ROUNDED = "BF16_BF16_F32"
"""JAX's name of products of operands in bfloat16 that are summed in float32."""


def rounded_products() -> AbstractContextManager[object]:
    """Round the operands of the float32 products that are traced within to bfloat16.

    On a CPU those in float16 are rounded to it, too.
    """
    return nullcontext() if "tpu" in platforms() else jax.default_matmul_precision(ROUNDED)


def product(
    axes: str, left: jax.Array, right: jax.Array, dtype: jnp.dtype | None = None
) -> jax.Array:
    """Multiply the matrices in the last two axes, with `axes` such as "tk,sk->ts".

    The axes before them broadcast. Each matrix may have the axis that is summed over first or last,
    and the result its two axes in either order. `dtype` is that of the result; None: that of the
    operands.
    """
    rounded = jax.config.jax_default_matmul_precision == ROUNDED and platforms() == ("cpu",)
    if not rounded or {left.dtype, right.dtype} != {jnp.dtype(jnp.float32)}:
        return _einsum(axes, left, right, dtype)
    (rows, _), result_axes = _terms(axes)
    whole_rows = rows[0] == result_axes[0]  # such as "tk,kv->tv": the rows of all matrices in one
    if whole_rows and right.ndim == 2 < left.ndim:  # copies of the right matrix would be large
        result = _rounded(axes, left.reshape(-1, left.shape[-1]), right)
        return result.reshape(*left.shape[:-1], result.shape[-1])
    leading = jnp.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = (jnp.broadcast_to(x, (*leading, *x.shape[-2:])) for x in (left, right))
    return _rounded(axes, left, right)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rounded(axes: str, left: jax.Array, right: jax.Array) -> jax.Array:
    return _forward(axes, left, right)[0]


def _forward(axes: str, left: jax.Array, right: jax.Array):
    operands = left.astype(jnp.bfloat16), right.astype(jnp.bfloat16)
    return _multiply(axes, *operands), operands


def _backward(axes: str, operands: tuple[jax.Array, jax.Array], slope: jax.Array):
    (rows, columns), result = _terms(axes)
    (left, right), slope = operands, slope.astype(jnp.bfloat16)
    return (
        _multiply(f"{result},{columns}->{rows}", slope, right),
        _multiply(f"{rows},{result}->{columns}", left, slope),
    )


_rounded.defvjp(_forward, _backward)


def _multiply(axes: str, left: jax.Array, right: jax.Array) -> jax.Array:
    """Multiply matrices in bfloat16; the product is float32.

    The units want the axis that is summed over last in the left matrix, and rows in memory one
    after the other, those of the result too. XLA computes other products of bfloat16 in float32, or
    not at all if it merges the product with a transposition before or after it.
    """
    (rows, columns), result = _terms(axes)
    if rows[-1] in result:
        rows, left = rows[::-1], jnp.swapaxes(left, -1, -2)
    transposed = rows[0] != result[0]
    # in the context's precision XLA would refuse products that the units do not read
    with jax.default_matmul_precision(None):
        axes = f"{rows},{columns}->{result[::-1] if transposed else result}"
        summed = _einsum(axes, _row_major(left), right, jnp.dtype(jnp.float32))
    summed = _row_major(summed)
    return jnp.swapaxes(summed, -1, -2) if transposed else summed


def _row_major(x: jax.Array) -> jax.Array:
    """Constrain the layout of an array in memory to row after row."""
    return with_layout_constraint(x, Layout(tuple(range(x.ndim))))


def _einsum(axes: str, left: jax.Array, right: jax.Array, dtype: jnp.dtype | None) -> jax.Array:
    (rows, columns), result = _terms(axes)
    axes = f"...{rows},...{columns}->...{result}"
    return jnp.einsum(axes, left, right, preferred_element_type=dtype)


def _terms(axes: str) -> tuple[list[str], str]:
    """Split the axes into those of both operands, and of the result."""
    operands, result = axes.split("->")
    return operands.split(","), result
