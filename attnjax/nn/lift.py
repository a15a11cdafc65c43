"""Templates and lifting: the two places where Linen shares or drops things without a word."""

import dataclasses
from collections.abc import Callable
from typing import Any

from flax import linen as nn


def clone_template[T](part: T, **changes: Any) -> T:
    """An unbound copy of a module and of every module in its fields, with `changes` to its own.

    A module in a field is a template. Used directly by six layers it would be one set of
    parameters, and `clone()` alone leaves the inner modules shared.
    """
    if isinstance(part, nn.Module):
        fields = (f.name for f in dataclasses.fields(part) if f.init)
        copied = {
            name: clone_template(getattr(part, name))
            for name in fields
            if name not in ("parent", "name")
        }
        return type(part)(**{**copied, **changes}, parent=None)
    return part


def vmap_heads(function: Callable, in_axes: Any, out_axes: Any) -> Callable:
    """`nn.vmap` over the axis "heads": parameters, keys and whatever is sown are each head's own.

    The stream "coin" alone is theirs together: an example is soft in all heads or in none.

    A collection that `variable_axes` does not name would be dropped, and would read as not asked
    for; so all but the parameters are named, by what they are not.
    """
    return nn.vmap(
        function,
        in_axes=in_axes,
        out_axes=out_axes,
        axis_name="heads",
        split_rngs={"coin": False, nn.DenyList("coin"): True},
        variable_axes={"params": 0, nn.DenyList(("params",)): 1},
    )
