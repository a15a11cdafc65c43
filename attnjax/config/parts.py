"""The parts that a field may hold, by name: the subclasses of its annotation, a user's own too."""

import dataclasses
import inspect
import pkgutil
import re
from functools import cache
from importlib import import_module
from types import NoneType
from typing import Any

from attnjax.config.constraints import alternatives

ROOMS_OF_PARTS = ("attention", "data", "decoding", "evaluation", "models", "training")
"""The packages whose parts can be chosen, by name: nothing here knows what is in them."""


def parts(hint: Any) -> dict[str, type | None]:
    """The parts that an annotation allows, by the names that the command line takes.

    A class with abstract methods is not one; None is named "none".
    """
    _import_parts()
    kinds = [kind for kind, _ in alternatives(hint)]
    found: dict[str, type | None] = {
        kebab(kind.__name__): kind
        for base in kinds
        if isinstance(base, type) and dataclasses.is_dataclass(base)
        for kind in _below(base)
    }
    return found | ({"none": None} if found and NoneType in kinds else {})


def first_line(kind: type | None) -> str:
    """The first line of a part's own docstring; nothing if there is none."""
    written = "" if kind is None else vars(kind).get("__doc__") or ""
    # a dataclass without a docstring is given its signature for one
    generated = kind is not None and written.startswith(f"{kind.__name__}(")
    return "" if generated else inspect.cleandoc(written).partition("\n")[0]


@cache
def _import_parts() -> None:
    """A part in a module that nothing has imported would not be known to be one."""
    for room in ROOMS_OF_PARTS:
        package = import_module(f"attnjax.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)


def _below(base: type) -> list[type]:
    """The class and its subclasses that have no abstract methods."""
    deeper = [kind for sub in base.__subclasses__() for kind in _below(sub)]
    return deeper if inspect.isabstract(base) else [base, *deeper]


def kebab(name: str) -> str:
    """The name of a class as the command line has it: ScaledDot is scaled-dot."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
