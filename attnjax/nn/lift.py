"""Templates, values inherited from the model, and lifting over heads, beams, time and layers.

Linen drops every variable collection that a lift does not name: the lifted function then behaves as
if the collection had not been requested. The lifts here therefore name all collections: the
parameters, and all others as "not the parameters".
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import jax
from flax import linen as nn

from attnjax.config.walk import field_names
from attnjax.nn.axes import HEADS
from attnjax.nn.dtypes import wide, widen
from attnjax.nn.paths import flat
from attnjax.nn.remat import Remat

PARAMETERS = "params"
OTHERS = nn.DenyList((PARAMETERS,))


def clone_template[T](part: T, **changes: Any) -> T:
    """Copy a module and every module in its fields, unbound, with `changes` to its fields.

    A module in a field is a template. Six layers that used it directly would share one set of
    parameters; Linen's `clone()` copies the outer module only. A value that is not a module is
    returned unchanged.
    """
    if not isinstance(part, nn.Module):
        return part
    copied = {name: clone_template(getattr(part, name)) for name in field_names(type(part))}
    return type(part)(**{**copied, **changes}, parent=None)


def inherit[T](part: T, **model_values: Any) -> T:
    """Copy a part, such as a layer, unbound; its fields that are None take the model's values."""
    missing = {name: value for name, value in model_values.items() if getattr(part, name) is None}
    return clone_template(part, **{name: clone_template(value) for name, value in missing.items()})


def inherited(part: nn.Module, name: str) -> Any:
    """Return the value of a field that `inherit` has filled in; a ValueError outside a model."""
    value = getattr(part, name)
    if value is None:
        raise ValueError(
            f"{type(part).__name__}.{name} is None, which stands for the model's value: "
            f"outside a model, give {name}"
        )
    return value


def sow(module: nn.Module, collection: str, name: str, value: Any) -> None:
    """Sow a value, except during initialization: later calls would read the stale value."""
    if not module.is_initializing():
        module.sow(collection, name, value)


def sown(variables: Any, collection: str, name: str) -> list[Any]:
    """Return the first value of a name that each module has sown to a requested collection."""
    values = flat(variables.get(collection, {}))
    return [value[0] for path, value in values.items() if path.rpartition(".")[2] == name]


def vmap_heads(function: Callable, in_axes: Any, out_axes: Any) -> Callable:
    """Lift over the axis "heads": each head has its own parameters, keys and sown values.

    Only the random stream "coin" is shared: an example is soft in all heads or in none.
    """
    return nn.vmap(
        function,
        in_axes=in_axes,
        out_axes=out_axes,
        axis_name=HEADS,
        split_rngs={"coin": False, nn.DenyList("coin"): True},
        variable_axes={PARAMETERS: 0, OTHERS: 1},
    )


def vmap_beams(function: Callable) -> Callable:
    """Lift over the K hypotheses of a sentence, which share what the function closes over.

    The function is the step of one hypothesis: module, inputs [B, ...] -> outputs [B, ...]; with
    the lift, inputs and outputs are [B, K, ...].
    """
    return nn.vmap(
        function,
        in_axes=1,
        out_axes=1,
        split_rngs={True: False},
        variable_axes={PARAMETERS: None, OTHERS: 1},
    )


def rematerialize(function: Callable, remat: Remat | None) -> Callable:
    """Apply `nn.remat` to a function of a module and arrays; None keeps all arrays."""
    return function if remat is None else nn.remat(function, policy=remat.policy)


def scan_time(
    function: Callable, *, direction: Literal["forward", "backward"] = "forward"
) -> Callable:
    """Lift over time, which is axis 1, also of sown values, by `nn.scan`.

    Every step has the same parameters and random keys of its own. Only the stream "coin" has one
    key for all steps: an example is soft at every step or at none.

    The function is module, carry, inputs without axis 1 -> carry, outputs without axis 1.
    "backward" starts at the last position; outputs stay at their inputs' positions.

    The gradient of a parameter is a sum over the steps, in float32 or wider, which is rounded to
    the parameter's dtype once.
    """
    once = (PARAMETERS, "coin")
    scan = partial(
        nn.scan,
        variable_broadcast=PARAMETERS,
        variable_axes={OTHERS: 1},
        split_rngs={once: False, nn.DenyList(once): True},
        in_axes=1,
        out_axes=1,
        reverse=direction == "backward",
    )

    def scanned(module: nn.Module, carry: Any, inputs: Any) -> Any:
        given = {PARAMETERS: module.variables.get(PARAMETERS, {})}
        if all(leaf.dtype == wide(leaf) for leaf in jax.tree.leaves(given)):
            return scan(function)(module, carry, inputs)

        # a step computes with the parameters as they are; its part of their gradient leaves it wide
        def narrow(widened: Any) -> Any:
            return jax.tree.map(lambda leaf, narrow: leaf.astype(narrow.dtype), widened, given)

        step = nn.map_variables(function, PARAMETERS, narrow)
        read = nn.map_variables(scan(step), PARAMETERS, partial(jax.tree.map, widen))
        return read(module, carry, inputs)

    return scanned
