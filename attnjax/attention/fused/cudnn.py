"""Softmax attention without its weights by cuDNN, on NVIDIA GPUs, through `jax.nn`."""

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp

from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.mask import Causal, Mask, Padding, Window


def cudnn_refuses(inputs: Inputs) -> str | None:
    """What cuDNN cannot honour; None if it can do it all."""
    query, key, value = inputs.query, inputs.key, inputs.value
    dtypes = {x.dtype.name for x in (query, key, value)}
    if dtypes not in ({"bfloat16"}, {"float16"}):
        return f"the dtypes {', '.join(sorted(dtypes))}; it wants bfloat16 or float16 for all"
    if any(x.shape[-1] % 8 or x.shape[-1] > 128 for x in (query, value)):
        return f"heads of {query.shape[-1]} and {value.shape[-1]}; it wants a multiple of 8 to 128"
    if query.shape[-1] != value.shape[-1]:
        return f"values of width {value.shape[-1]} where keys have {query.shape[-1]}"
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        return "keys or values that several examples share"
    if inputs.bias is not None:
        return "a bias that is a function of positions"
    rules = inputs.rules()
    of_place = [rule for rule in rules if not isinstance(rule, Padding)]
    for rule in of_place:
        known = isinstance(rule, Causal) or (isinstance(rule, Window) and rule.reach())
        if not known:
            return f"the rule {type(rule).__name__}"
        if inputs.numbered():
            return f"the rule {type(rule).__name__} on positions other than 0, 1, ..."
        if len(of_place) < len(rules):
            return f"the rules {type(rule).__name__} and Padding together"
        if isinstance(rule, Window) and query.shape[-2] != key.shape[-2]:
            return "the rule Window where there are more or fewer keys than queries"
    window = _window(rules)
    if window and window[1] and not any(isinstance(rule, Causal) for rule in rules):
        return "the rule Window to the right where there is no Causal"
    return None


def _window(rules: tuple[Mask, ...]) -> tuple[int, int] | None:
    """How far all windows together reach before and after; None: there is none."""
    sizes = [size for rule in rules if isinstance(rule, Window) and (size := rule.reach())]
    if not sizes:
        return None
    return min(before for before, _ in sizes), min(after for _, after in sizes)


def cudnn(inputs: Inputs, implementation: Literal["cudnn", "xla"] = "cudnn") -> jax.Array:
    """The context [..., T, V] of what cuDNN does not refuse; 0 where nothing may be attended to.

    Args:
        inputs: in bfloat16 or float16, with padding, or with causality and windows.
        implementation: of `jax.nn.dot_product_attention`; xla has the same arguments anywhere.
    """
    *leading, T, _ = inputs.query.shape
    # One head each: leading axes need not be told apart.
    given = (inputs.query, inputs.key, inputs.value)
    query, key, value = (x.reshape(-1, *x.shape[-2:]) for x in given)
    rules = inputs.rules()
    attend = partial(
        jax.nn.dot_product_attention,
        scale=inputs.scale,
        is_causal=any(isinstance(rule, Causal) for rule in rules),
        local_window_size=_window(rules),
        implementation=implementation,
    )
    present = inputs.present()
    if present is None:
        context = attend(*(x[:, :, None] for x in (query, key, value)))
        return context.reshape(*leading, T, -1)
    present = present.reshape(key.shape[:-1])
    # It wants a number of keys, counted from the first. Their order is free here, so those that
    # are there go first; a sentence without any reads one, for nothing.
    order = jnp.argsort(~present, axis=-1, stable=True)[..., None]
    key, value = (jnp.take_along_axis(x, order, axis=1) for x in (key, value))
    lengths = present.sum(-1, dtype=jnp.int32)
    attend = partial(attend, key_value_seq_lengths=jnp.maximum(lengths, 1))
    context = attend(*(x[:, :, None] for x in (query, key, value)))[:, :, 0]
    return jnp.where(lengths[:, None, None] > 0, context, 0).reshape(*leading, T, -1)
