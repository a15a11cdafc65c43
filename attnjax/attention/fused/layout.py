"""The order of the axes that `fused` is given, and what shapes say of it."""

from collections.abc import Iterator
from typing import Literal

import jax
import numpy as np

from attnjax.attention.fused.inputs import Inputs
from attnjax.errors import UserError

type AxisLayout = Literal["BNTH", "BTNH"]
"""The order of batch, heads, words and width, in the letters of `jax.nn.dot_product_attention`."""


def heads_first(x: jax.Array, layout: AxisLayout) -> jax.Array:
    """The array [B, N, T, H] from one in this layout; in BNTH the leading axes may be any."""
    if layout not in ("BNTH", "BTNH"):
        raise UserError(f"the layout of fused is BNTH or BTNH; got {layout}")
    if layout == "BTNH" and x.ndim != 4:
        raise UserError(f"the layout BTNH wants arrays with four axes; got {list(x.shape)}")
    return x if layout == "BNTH" else x.swapaxes(-2, -3)


def check_shapes(inputs: Inputs, layout: AxisLayout) -> None:
    """Refuse arrays, heads first, that do not fit: those of the other layout rarely do."""
    query, key, value = (x.shape for x in (inputs.query, inputs.key, inputs.value))
    length = {"query": query[-2], "key": key[-2]}
    fit = query[-1] == key[-1] and key[-2] == value[-2]
    fit &= all(size in (1, length[axis]) for axis, size in _sizes(inputs))
    try:
        np.broadcast_shapes(query[:-2], key[:-2], value[:-2])
    except ValueError:
        fit = False
    if not fit:
        other = "BTNH (that of JAX)" if layout == "BNTH" else "BNTH"
        raise UserError(
            f"fused with layout {layout} wants, with heads first, queries [..., T, K], keys "
            "[..., S, K], values [..., S, V] and masks and positions of T queries and S keys; got "
            f"{list(query)}, {list(key)}, {list(value)}, T = {query[-2]}, S = {key[-2]}: is the "
            f"layout {other}?"
        )


def _sizes(inputs: Inputs) -> Iterator[tuple[str, int]]:
    """The sizes of the mask's and the positions' last axes, each with the name of its axis."""
    for axis, array in inputs.positions._asdict().items():
        yield from ((axis, size) for size in np.shape(array)[-1:])
    for rule in inputs.rules():
        for name, axes in rule.axes.items():
            shape = np.shape(getattr(rule, name))[-len(axes) :]
            yield from zip(axes, shape, strict=True)
