"""Parameters by their paths with dots: "encoder.layers_0.feed_forward.out.kernel".

A dot in a module's own name is written as %2E: "block%2E0.kernel".
"""

import re
from collections.abc import Mapping
from typing import Any

from flax import traverse_util


def flat(params: Any) -> dict[str, Any]:
    """Return each leaf of nested dicts by its path."""
    leaves = traverse_util.flatten_dict(params)
    return {".".join(map(_without_dots, path)): leaf for path, leaf in leaves.items()}


def unflat(params: Mapping[str, Any]) -> Any:
    """Return the nested dicts that `flat` was given."""
    leaves = {tuple(map(_with_dots, path.split("."))): leaf for path, leaf in params.items()}
    return traverse_util.unflatten_dict(leaves)


def _without_dots(name: str) -> str:
    """Return a name with %2E for each dot; %2E itself becomes %252E, and so on."""
    return re.sub("%((?:25)*2E)", r"%25\1", name).replace(".", "%2E")


def _with_dots(name: str) -> str:
    """Return the name that `_without_dots` was given."""
    return re.sub("%25((?:25)*2E)", r"%\1", name.replace("%2E", "."))
