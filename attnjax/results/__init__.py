"""Results: the finished runs of an experiment together, its claims and verdicts.

What stands here is imported when it is used, so that `attnjax list` does not wait for JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnjax.results.run_rows import rows as rows
    from attnjax.results.summary import summarize as summarize

_MODULES = {"rows": "run_rows", "summarize": "summary"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
