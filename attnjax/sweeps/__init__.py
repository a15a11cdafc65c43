"""Sweeps: every variant with every seed is tuned, trained, decoded and measured.

What stands here is imported when it is used, so that `attnjax list` does not wait for JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnjax.sweeps.plan import Sweep as Sweep
    from attnjax.sweeps.run_ablation import sweep as sweep

_MODULES = {"Sweep": "plan", "sweep": "run_ablation"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
