"""Where and when something was measured."""

import os
import platform
from datetime import date
from typing import Any

import jax


def machine() -> dict[str, Any]:
    """What it ran on."""
    return {
        "date": date.today().isoformat(),
        "device": jax.devices()[0].device_kind,
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "jax": jax.__version__,
    }
