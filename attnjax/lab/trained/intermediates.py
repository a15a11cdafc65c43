"""The outputs of a model's modules, and what comes out if some of them are replaced.

Reading and replacing is one compiled program, which differs in its inputs alone: a value that is
replaced by itself changes no bit of the output.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from attnjax.data.special_tokens import START
from attnjax.errors import UserError, first_line, unknown
from attnjax.lab.trained.predict import numbers
from attnjax.models.base import Model
from attnjax.models.module_outputs import module_outputs

OUTPUT = ""
"""The path of the model itself: its own output."""


def check_source(model: Model, params: Any, source: np.ndarray) -> None:
    """Refuse a source whose shape is none of a source of the model.

    Raises:
        UserError: the model cannot be computed for it.
    """
    call = partial(model.apply, deterministic=True)
    start = np.asarray([[START]])
    try:
        jax.eval_shape(call, {"params": params}, source[None], start)
    except (TypeError, ValueError, IndexError) as error:
        raise UserError(
            f"a {type(model).__name__} cannot read a source {[*source.shape]}: {first_line(error)}"
        ) from error


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
    replaced = {}
    for path, given_array in arrays.items():
        if path not in modules:
            raise unknown("module", path, modules)
        wanted, array = shapes[path].shape[1:], numbers(given_array, "what replaces an output")
        if array.shape != wanted:
            raise UserError(
                f"{path} gives an array {list(wanted)} for this source; it is to be replaced by an "
                f"array {list(array.shape)}"
            )
    for path in modules:
        array = np.asarray(arrays.get(path, 0), shapes[path].dtype)
        replaced[path] = np.asarray(path in arrays), np.broadcast_to(array, shapes[path].shape)
    outputs = jax.device_get(module_outputs(model, params, *given, replaced))
    return {path: np.asarray(value[0]) for path, value in outputs.items()}
