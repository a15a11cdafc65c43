"""A module's methods, each call one compiled program that later calls share; arrays are NumPy's.

Outside of `jax.jit` every primitive of a module is a program of its own, in every shape.
"""

from functools import partial
from typing import Any

import jax
import numpy as np
from flax import linen as nn

STATIC = ("deterministic", "method", "mutable", "length", "beams")
"""Options that are no arrays."""


def init(module: nn.Module, *inputs: Any, **options: Any) -> Any:
    """Return the variables; the first of the inputs is a key."""
    return call(module, "init", *inputs, **options)


def drawn(module: nn.Module, *inputs: Any, **options: Any) -> Any:
    """Return random variables as `init` has them, also where training begins with 0 or 1.

    NumPy draws them: to compile what an initializer draws takes longer than the module's gradient.
    """
    call_it = partial(module.init, mutable=["params"], **options)
    shapes = jax.eval_shape(call_it, jax.random.key(0), *inputs)
    normal = np.random.default_rng(0).normal
    return jax.tree.map(lambda leaf: normal(0, 0.5, leaf.shape).astype(leaf.dtype), shapes)


def apply(module: nn.Module, *inputs: Any, **options: Any) -> Any:
    """Return the result; the first of the inputs are variables."""
    return call(module, "apply", *inputs, **options)


def init_with_output(module: nn.Module, *inputs: Any, **options: Any) -> Any:
    """Return the result and the variables; the first of the inputs is a key."""
    return call(module, "init_with_output", *inputs, **options)


def call(module: nn.Module, name: str, *inputs: Any, **options: Any) -> Any:
    """Return what a method of an unbound module does, such as `alignment`."""
    if isinstance(options.get("mutable"), list):
        options = {**options, "mutable": tuple(options["mutable"])}
    return jax.tree.map(_on_host, _compiled(module, name, *inputs, **options))


@partial(jax.jit, static_argnums=(0, 1), static_argnames=STATIC)
def _compiled(module: nn.Module, name: str, *inputs: Any, **options: Any) -> Any:
    return getattr(module, name)(*inputs, **options)


def _on_host(array: jax.Array) -> Any:
    """Return a NumPy array; within a traced function, what is traced."""
    return array if isinstance(array, jax.core.Tracer) else np.array(array)
