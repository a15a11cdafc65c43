"""The outputs of a model's modules, and what comes after if some of them are replaced."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax.core import tracers

from attnjax.attention.heads.carried import Carried
from attnjax.models.base import Model

type Replaced = Mapping[str, tuple[jax.Array, jax.Array]]
"""By a module's path whether its output is replaced, and by which array."""


@partial(jax.jit, static_argnames="model")
def module_outputs(
    model: Model, params: Any, source: Any, decoder_input: Any, replaced: Replaced
) -> dict[str, jax.Array]:
    """Return the output of each module that is called once, by its path; the model's own by "".

    Left out are modules that give no single array, and those within a lift over heads or time; what
    a layer gives beside its array for the layer above is no output of its. The flags of `replaced`
    are arrays: it is one program whatever is replaced.
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
        array, *carried = output if _hands_on(output) else (output,)
        # within a lift over heads or time a call sees one of them
        if not isinstance(array, jax.Array) or tracers.current_trace() != outside:
            return output
        if path in replaced:
            array = jnp.where(*replaced[path], array)
        outputs[path] = array
        return (array, *carried) if carried else array

    with nn.intercept_methods(replace):
        model.apply({"params": params}, source, decoder_input, deterministic=True)
    return {path: output for path, output in outputs.items() if calls[path] == 1}


def _hands_on(output: Any) -> bool:
    """Return whether an output is that of a layer with what it hands on to the layer above."""
    return isinstance(output, tuple) and any(isinstance(part, Carried) for part in output)
