"""Runs on disk: folders, training of all variants and seeds, evaluation, the summary.

What stands here is imported when it is used, so that `attnjax list` does not wait for JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnjax.runs.ensemble import ensemble
    from attnjax.runs.run_ablation import sweep
    from attnjax.runs.summary import summarize
    from attnjax.runs.sweep import Sweep
    from attnjax.runs.trained import Trained, open_trained

__all__ = ["Sweep", "Trained", "ensemble", "open_trained", "summarize", "sweep"]

_MODULES = {
    "Sweep": "sweep",
    "Trained": "trained",
    "ensemble": "ensemble",
    "open_trained": "trained",
    "summarize": "summary",
    "sweep": "run_ablation",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
