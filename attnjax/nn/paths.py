"""Parameters by their paths with dots: "encoder.layers_0.feed_forward.out.kernel"."""

from collections.abc import Mapping
from typing import Any

from flax import traverse_util


def flat(params: Any) -> dict[str, Any]:
    """Return each leaf of nested dicts by its path."""
    return dict(traverse_util.flatten_dict(params, sep="."))


def unflat(params: Mapping[str, Any]) -> Any:
    """Return the nested dicts that `flat` was given."""
    return traverse_util.unflatten_dict(params, sep=".")
