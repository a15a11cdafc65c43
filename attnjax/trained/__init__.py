"""Trained runs: evaluate, predict, replay, export and import.

What stands here is imported when it is used, so that `attnjax list` does not wait for JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attnjax.trained.trained_run import (
        Trained as Trained,
        ensemble as ensemble,
        open_trained as open_trained,
    )


def __getattr__(name: str) -> Any:
    if name not in ("Trained", "ensemble", "open_trained"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.trained_run"), name)
