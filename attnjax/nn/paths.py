"""Parameters by their paths with dots: "encoder.layers_0.feed_forward.out.kernel"."""

from collections.abc import Iterable, Mapping
from typing import Any

from flax import traverse_util


def flat(params: Any) -> dict[str, Any]:
    """Return each leaf of nested dicts by its path."""
    return dict(traverse_util.flatten_dict(params, sep="."))


def unflat(params: Mapping[str, Any]) -> Any:
    """Return the nested dicts that `flat` was given."""
    return traverse_util.unflatten_dict(params, sep=".")


def named(names: Iterable[str], most: int = 6) -> str:
    """List at most `most` names for a sentence: "a, b, c and 5 more"."""
    names = [*names]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
