"""The outputs of a model's modules, and what comes after if some of them are replaced."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax.core import tracers

from attnjax.models.base import Model

type Replaced = Mapping[str, tuple[jax.Array, jax.Array]]
"""By a module's path whether its output is replaced, and by which array."""


@partial(jax.jit, static_argnames="model")
def module_outputs(
    model: Model, params: Any, source: Any, decoder_input: Any, replaced: Replaced
) -> dict[str, jax.Array]:
    """Return the output of each module that is called once, by its path; the model's own by "".

    Left out are modules that give no single array, and those within a lift over heads or time. The
    flags of `replaced` are arrays: it is one program whatever is replaced.
    """
    outputs: dict[str, jax.Array] = {}
    calls, running = Counter[str](), set[str]()
    outside = tracers.current_trace()

    def replace(call: Any, args: Any, kwargs: Any, context: Any) -> Any:
        path = ".".join(context.module.path)
        # a class that calls the method of its base class is called once
        if context.method_name != "__call__" or path in running:
            return call(*args, **kwargs)
        running.add(path)
        output = call(*args, **kwargs)
        running.remove(path)
        calls[path] += 1
        # within a lift over heads or time a call sees one of them
        if not isinstance(output, jax.Array) or tracers.current_trace() != outside:
            return output
        if path in replaced:
            output = jnp.where(*replaced[path], output)
        outputs[path] = output
        return output

    with nn.intercept_methods(replace):
        model.apply({"params": params}, source, decoder_input, deterministic=True)
    return {path: output for path, output in outputs.items() if calls[path] == 1}
