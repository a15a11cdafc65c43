"""Heads that share keys and values, read as more queries of one head: no key is copied."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.mask import And
from attnjax.attention.position import Positions


def join_heads(inputs: Inputs) -> Inputs | None:
    """Queries [..., R, T, K] of keys [..., 1, S, K] -> queries [..., R T, K] of keys [..., S, K].

    None: no heads share keys, or they differ in their masks, positions or biases.
    """
    group, steps = inputs.group(), inputs.query.shape[-2]
    if group == 1 or inputs.bias is not None or not _same_for_all(inputs):
        return None
    join = partial(_join, group=group)
    at, of = inputs.positions
    # numbered before compiling, so that empty tiles are still left out of the program
    at = np.tile(np.arange(steps), group) if at is None else join(at, ("query",))
    query = inputs.query
    return replace(
        inputs,
        query=query.reshape(*query.shape[:-3], group * steps, query.shape[-1]),
        key=jnp.squeeze(inputs.key, -3),
        value=jnp.squeeze(inputs.value, -3),
        mask=And(tuple(rule.map_arrays(join) for rule in inputs.rules())),
        positions=Positions(at, None if of is None else join(of, ("key",))),
    )


def _same_for_all(inputs: Inputs) -> bool:
    """Whether positions and masks have one axis of length 1 for all heads that share keys."""
    at, of = inputs.positions
    arrays = [(x, 1) for x in (at, of) if x is not None]
    arrays += [
        (getattr(rule, name), len(axes))
        for rule in inputs.rules()
        for name, axes in rule.axes.items()
    ]
    return all(x.ndim == own or x.shape[-own - 1] == 1 for x, own in arrays)


def _join(x: jax.Array, axes: tuple[str, ...], group: int) -> jax.Array:
    """[..., 1, *axes] -> [..., *axes], the axis of queries repeated for each head."""
    x = jnp.squeeze(x, -len(axes) - 1) if x.ndim > len(axes) else x
    if "query" not in axes:
        return x
    side = axes.index("query") - len(axes)
    # an axis of length 1 stands for all queries
    return x if x.shape[side] == 1 else jnp.concatenate([x] * group, side)
