"""The outputs of a model's modules, and what comes out if some of them are replaced.

Reading and replacing is one compiled program, which differs in its inputs alone: a value that is
replaced by itself changes no bit of the output.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from attnjax.errors import UserError, unknown
from attnjax.models.base import Model
from attnjax.models.module_outputs import module_outputs

OUTPUT = ""
"""The path of the model itself: its own output."""


def outputs_with(
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
    shapes = jax.eval_shape(partial(module_outputs, model), params, *given, {})
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
    outputs = jax.device_get(module_outputs(model, params, *given, replaced))
    return {path: np.asarray(value[0]) for path, value in outputs.items()}
