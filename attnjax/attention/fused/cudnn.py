"""Fused softmax attention by cuDNN, on NVIDIA GPUs, through `jax.nn`."""

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp

from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.mask import Causal, Padding, Window


def cudnn_refuses(inputs: Inputs) -> str | None:
    """Return the part of the inputs that cuDNN cannot compute, in words, or None."""
    return _refused_arrays(inputs) or _refused_mask(inputs)


def _refused_arrays(inputs: Inputs) -> str | None:
    """Return what cuDNN cannot compute of all but the mask, in words, or None."""
    query, key, value = inputs.query, inputs.key, inputs.value
    dtypes = {x.dtype.name for x in (query, key, value)}
    if dtypes not in ({"bfloat16"}, {"float16"}):
        return f"the dtypes {', '.join(sorted(dtypes))}: all must be bfloat16 or all float16"
    if any(x.shape[-1] % 8 or x.shape[-1] > 128 for x in (query, value)):
        return f"heads of width {query.shape[-1]} and {value.shape[-1]}: multiples of 8 up to 128"
    if query.shape[-1] != value.shape[-1]:
        return f"values of width {value.shape[-1]} where keys have {query.shape[-1]}"
    leading = query.shape[:-2] if inputs.group() == 1 else (*query.shape[:-3], 1)
    if not leading == key.shape[:-2] == value.shape[:-2]:
        return "keys or values that several examples share"
    return inputs.refused_extra()


def _refused_mask(inputs: Inputs) -> str | None:
    """Return what of the mask cuDNN cannot compute, in words, or None."""
    if refused := inputs.refused_rule(Padding, Causal, Window):
        return refused
    on_positions = [rule for rule in inputs.rules() if not isinstance(rule, Padding)]
    if 0 < len(on_positions) < len(inputs.rules()):
        return f"the masks {type(on_positions[0]).__name__} and Padding together"
    window = inputs.window()
    if window and inputs.query.shape[-2] != inputs.key.shape[-2]:
        return "the mask Window with more or fewer keys than queries"
    if window and window[1] and not inputs.is_causal():
        return "the mask Window with keys after the query, without Causal"
    return None


def cudnn(inputs: Inputs, implementation: Literal["cudnn", "xla"] = "cudnn") -> jax.Array:
    """Return the context [..., T, V]; 0 where a query may attend to nothing.

    The implementation is that of `jax.nn.dot_product_attention`: "xla" takes the same arguments on
    any platform.
    """
    *leading, T, _ = inputs.query.shape
    # Every example is passed as one head, or as several that share keys: leading axes become one.
    query, key, value = (
        jnp.swapaxes(x.reshape(-1, heads, *x.shape[-2:]), 1, 2)
        for x, heads in ((inputs.query, inputs.group()), (inputs.key, 1), (inputs.value, 1))
    )
    attend = partial(
        jax.nn.dot_product_attention,
        scale=inputs.constants[0],
        is_causal=inputs.is_causal(),
        local_window_size=inputs.window(),
        implementation=implementation,
    )
    present = inputs.present()
    if present is None:
        return jnp.swapaxes(attend(query, key, value), 1, 2).reshape(*leading, T, -1)
    present = present.reshape(key.shape[:2])
    # cuDNN takes the number of keys of each example, counted from the first key. Without rules on
    # positions the order of the keys does not matter, so real keys are sorted to the front. An
    # example without a real key reads one and is set to 0 afterwards.
    order = jnp.argsort(~present, axis=-1, stable=True)[..., None, None]
    key, value = (jnp.take_along_axis(x, order, axis=1) for x in (key, value))
    lengths = present.sum(-1, dtype=jnp.int32)
    context = attend(query, key, value, key_value_seq_lengths=jnp.maximum(lengths, 1))
    context = jnp.where(lengths[:, None, None, None] > 0, context, 0)
    return jnp.swapaxes(context, 1, 2).reshape(*leading, T, -1)
