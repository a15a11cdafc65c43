"""Kinds of parameters: what training does with each array of a model's parameters.

All arrays of a model are its parameters, so that checkpoints, their average, evaluation and search
have them. A part whose array is no weight declares the kind of its name, which is one in all parts.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp


class Kind(Enum):
    """What training does with a parameter."""

    WEIGHT = "trained, and shrunk by weight decay"
    UNDECAYED = "trained without weight decay: a bias or a scale"
    RUNNING = "a running statistic: moved by a step of its own"
    CONSTANT = "never changed, as the part has drawn it"

    @property
    def trained(self) -> bool:
        """Whether the optimizer changes such a parameter."""
        return self in (Kind.WEIGHT, Kind.UNDECAYED)


_DECLARED: dict[str, Kind] = {}


def declare(kind: Kind, *names: str) -> None:
    """Declare the kind of all parameters of these names; an undeclared name is a WEIGHT.

    Raises:
        ValueError: a name has another kind already.
    """
    for name in names:
        if _DECLARED.setdefault(name, kind) is not kind:
            raise ValueError(
                f"the parameter {name!r} is declared as {_DECLARED[name].name}, not {kind.name}; "
                "choose another name"
            )


declare(Kind.UNDECAYED, "bias", "scale")  # the names in Flax's own layers


def kind_of(name: str) -> Kind:
    """Return the kind of a parameter, by its path with dots: "encoder.norm.running_mean"."""
    return _DECLARED.get(name.rsplit(".", 1)[-1], Kind.WEIGHT)


def map_by_kind(function: Callable[..., Any], params: Any, *more: Any) -> Any:
    """Return a tree of function(kind, leaf, ...) of each parameter; `more` are trees alike."""

    def apply(path: Any, *leaves: Any) -> Any:
        return function(kind_of(jax.tree_util.keystr(path, simple=True, separator=".")), *leaves)

    return jax.tree.map_with_path(apply, params, *more)


def number_trained(params: Any) -> int:
    """Count the trained parameters: running statistics and constants do not count."""
    sizes = map_by_kind(lambda kind, leaf: leaf.size if kind.trained else 0, params)
    return sum(jax.tree.leaves(sizes))


def trained_only(gradients: Any) -> Any:
    """Return the gradients, with 0 for parameters that are not trained."""
    return map_by_kind(
        lambda kind, gradient: gradient if kind.trained else jnp.zeros_like(gradient), gradients
    )


def keep_untrained(updated: Any, params: Any, gradients: Any) -> Any:
    """Undo the update of constants, and replace that of running statistics by their own step.

    `params` are those before the update. The gradients are summed up over devices; that of a
    running statistic is the step of its average.
    """

    def choose(kind: Kind, new: Any, old: Any, step: Any) -> Any:
        if kind is Kind.RUNNING:
            return old - step
        return new if kind.trained else old

    return map_by_kind(choose, updated, params, gradients)
