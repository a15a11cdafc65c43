"""Installed packages that the code of a user's own parts comes from, and their versions."""

import ast
import hashlib
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from attnjax.config.definitions import used_definitions
from attnjax.config.own_code import imported_names, is_own

ALWAYS_RECORDED = {"attnjax", "jax", "jaxlib", "flax", "optax", "numpy", "jaxtyping"}
"""Packages whose versions every result has, or that compute nothing."""


def packages_of(
    text: str, names: Iterable[str], modules: Mapping[str, bytes] | None = None
) -> dict[str, str]:
    """Return the packages that classes of a text use, and those that its own modules import.

    A package is given with its version; one that was not installed with a version, with the digest
    of its sources. `modules` is the content of the own modules, by their files.
    """
    pieces = [piece for used in used_definitions(text, names).values() for piece in used]
    pieces += [
        ast.unparse(statement)
        for statement in ast.parse(text).body
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"
    ]
    pieces += [
        content.decode("utf-8-sig", "replace")
        for file, content in (modules or {}).items()
        if file.endswith(".py")
    ]
    found = {name for piece in pieces for name in imported_names(ast.parse(piece))}
    tops = {name.partition(".")[0] for name in found}
    return dict(
        sorted(
            pair
            for top in tops - ALWAYS_RECORDED - sys.stdlib_module_names
            if top in sys.modules and not is_own(sys.modules[top])
            for pair in versions_of(top).items()
        )
    )


@cache
def versions_of(top: str) -> dict[str, str]:
    """Return the versions of the packages that install a module of this name."""
    # imported here, because it takes time and few parts need it
    from importlib.metadata import packages_distributions, version

    if installed := packages_distributions().get(top):
        return {name: version(name) for name in installed}
    spec = find_spec(top)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return {}
    origin = Path(spec.origin)
    files = sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.relative_to(origin.parent)}\0".encode() + path.read_bytes() + b"\0")
    return {top: f"sources {digest.hexdigest()[:16]}"}
