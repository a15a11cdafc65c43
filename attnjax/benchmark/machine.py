"""The machine, date and versions of a measurement."""

import os
import platform
from datetime import date
from typing import Any

import jax


def machine() -> dict[str, Any]:
    """The date, the device, and the versions of the packages."""
    return {
        "date": date.today().isoformat(),
        "device": jax.devices()[0].device_kind,
        "cores": cores(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "jax": jax.__version__,
    }


def cores() -> int | None:
    """The number of cores that this process may use; macOS and Windows do not say which."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count()
