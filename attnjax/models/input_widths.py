"""The widths of the queries, keys and values that the attentions of a model are called with."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from flax import linen as nn

from attnjax.attention.attention import AttentionBase
from attnjax.nn.lift import clone_template

INPUTS = {"prepare": ("key", "value"), "attend": ("query",)}
"""The inputs of an attention's methods, in their order."""


class Widths(NamedTuple):
    """The widths of queries, keys and values."""

    query: int
    key: int
    value: int


def input_widths(call: Callable, *arguments: Any) -> list[tuple[AttentionBase, Widths]]:
    """Return the attentions that a call of a module runs, each with the widths of its inputs.

    The call is traced and not computed; an attention within another is listed after it.
    """
    called: dict[tuple[str, ...], AttentionBase] = {}
    widths: dict[tuple[str, ...], dict[str, int]] = {}

    def watch(method: Any, given: Any, options: Any, context: Any) -> Any:
        module = context.module
        if isinstance(module, AttentionBase) and context.method_name in INPUTS:
            names = INPUTS[context.method_name]
            called.setdefault(module.path, module)
            of_inputs = {name: x.shape[-1] for name, x in zip(names, given, strict=False)}
            widths.setdefault(module.path, {}).update(of_inputs)
        return method(*given, **options)

    with nn.intercept_methods(watch):
        jax.eval_shape(call, *arguments)
    return [(clone_template(called[path]), Widths(**widths[path])) for path in called]
