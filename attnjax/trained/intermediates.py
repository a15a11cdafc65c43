"""The outputs of a model's modules, and what comes out if some of them are replaced.

Reading and replacing is one compiled program, which differs in its inputs alone: a value that is
replaced by itself changes no bit of the output.
"""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax.core import tracers

from attnjax.errors import UserError, unknown
from attnjax.models.base import Model

OUTPUT = ""
"""The path of the model itself: its own output."""

type Replaced = Mapping[str, tuple[jax.Array, jax.Array]]
"""By a module's path whether its output is replaced, and by which array."""


def module_outputs(
    model: Model, params: Any, source: Any, decoder_input: Any, arrays: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Return the output of each module for one example, by its path, those in `arrays` replaced.

    Source and decoder input have no axis of examples, and neither has an output. Left out are
    modules that are called more than once, that give no single array, or that are called once for
    each head or each step.

    Raises:
        UserError: no module has a path of `arrays`, or its output another shape.
    """
    given = np.asarray(source)[None], np.asarray(decoder_input)[None]
    shapes = jax.eval_shape(partial(_outputs, model), params, *given, {})
    modules = [path for path in shapes if path != OUTPUT]
    for path, array in arrays.items():
        if path not in modules:
            raise unknown("module", path, modules)
        wanted = shapes[path].shape[1:]
        if np.shape(array) != wanted:
            raise UserError(
                f"{path} gives an array {list(wanted)} for this source; it is to be replaced by an "
                f"array {list(np.shape(array))}"
            )
    replaced = {}
    for path in modules:
        array = np.asarray(arrays.get(path, 0), shapes[path].dtype)
        replaced[path] = np.asarray(path in arrays), np.broadcast_to(array, shapes[path].shape)
    outputs = jax.device_get(_outputs(model, params, *given, replaced))
    return {path: np.asarray(value[0]) for path, value in outputs.items()}


@partial(jax.jit, static_argnames="model")
def _outputs(
    model: Model, params: Any, source: Any, decoder_input: Any, replaced: Replaced
) -> dict[str, jax.Array]:
    """Return the output of each module that is called once, by its path; the model's own, too."""
    outputs: dict[str, jax.Array] = {}
    calls = Counter[str]()
    outside = tracers.current_trace()

    def replace(call: Any, args: Any, kwargs: Any, context: Any) -> Any:
        output = call(*args, **kwargs)
        if context.method_name != "__call__":
            return output
        path = ".".join(context.module.path)
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
