"""Looks at the output of every module while a model is traced."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn


@contextmanager
def watched_outputs(watch: Callable[[str, Sequence[jax.Array]], None]) -> Iterator[None]:
    """Call `watch` with each method of a module that ends, and the floating arrays of its result.

    A module inside another ends before it. The arrays are traced if the model is. `watch` gets the
    module's path and class, "encoder.layers_0.norm (LayerNorm)", and the arrays.
    """

    def intercept(call: Callable[..., Any], arguments: Any, options: Any, context: Any) -> Any:
        output = call(*arguments, **options)
        floating = [
            leaf
            for leaf in jax.tree.leaves(output)
            if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.inexact)
        ]
        method = "" if context.method_name == "__call__" else f", method {context.method_name}"
        kind = f"({type(context.module).__name__}{method})"
        if floating:
            watch(" ".join(filter(None, (".".join(context.module.path), kind))), floating)
        return output

    with nn.intercept_methods(intercept):
        yield
