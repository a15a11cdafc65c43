"""The platform that a program is compiled for, as far as it is known while the program is traced.

It need not be one of this machine: a laptop compiles for a TPU, see `attnjax.lab.rehearsal`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax
from jax.extend.backend import backends

_target: ContextVar[str | None] = ContextVar("target", default=None)


@contextmanager
def compiled_for(platform: str) -> Iterator[None]:
    """Trace the block for one device of this platform: "cpu", "cuda", "rocm" or "tpu"."""
    token = _target.set(platform)
    try:
        yield
    finally:
        _target.reset(token)


def platforms() -> tuple[str, ...]:
    """Return the platforms that the program may be compiled for: all of this machine, or one."""
    target = _target.get()
    return tuple(backends()) if target is None else (target,)


def is_for_one_device(platform: str) -> bool:
    """Return whether the program is for one device: XLA will not divide it among several."""
    return _target.get() is not None or jax.device_count(platform) == 1


def platform_of(device: Any) -> str:
    """Return the platform of a device of JAX: "cuda" or "rocm" of a GPU."""
    if device.platform != "gpu":
        return device.platform
    return "rocm" if "rocm" in device.client.platform_version else "cuda"
