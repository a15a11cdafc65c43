"""The memory that a training takes, and an estimate of what a seed more would take."""

import resource
import sys
from pathlib import Path

import jax
import jax.numpy as jnp

from attnjax.training.train_setup import TrainSetup

STATES, NUMBERS_AN_OUTPUT = 2, 4  # what a training step holds at once, see `seed_memory`


def peak_memory() -> dict[str, int]:
    """Return the peak memory in bytes, of the process and of its fullest device if known."""
    # in bytes on macOS, in KiB elsewhere
    unit = 1 if sys.platform == "darwin" else 1024
    peaks = {"host_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}
    stats = [device.memory_stats() or {} for device in jax.local_devices()]
    known = [memory["peak_bytes_in_use"] for memory in stats if "peak_bytes_in_use" in memory]
    return peaks | ({"device_memory": max(known)} if known else {})


def free_memory() -> int | None:
    """Return the free bytes of the fullest device or of a CPU machine; None: unknown."""
    stats = [device.memory_stats() or {} for device in jax.local_devices()]
    if all("bytes_limit" in memory for memory in stats):
        return min(memory["bytes_limit"] - memory.get("bytes_in_use", 0) for memory in stats)
    system = Path("/proc/meminfo")
    if jax.default_backend() != "cpu" or not system.exists():
        return None
    lines = (line.split() for line in system.read_text().splitlines())
    return next((int(words[1]) * 1024 for words in lines if words[0] == "MemAvailable:"), None)


def device_memory() -> int | None:
    """Return the bytes of the smallest device, in use or not; None: unknown, as on a CPU."""
    stats = [device.memory_stats() or {} for device in jax.local_devices()]
    return min((memory["bytes_limit"] for memory in stats if "bytes_limit" in memory), default=None)


def seed_memory(setup: TrainSetup) -> int:
    """Estimate from shapes alone the bytes that a device needs for each seed of a group.

    The state is held, its gradient and its update are computed, and the backward pass reads a few
    numbers of each output of each linear map at each position of the largest batch.
    """
    state = setup.state_shapes()
    held = sum(
        leaf.size * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(state)
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    )
    outputs = sum(leaf.shape[-1] for leaf in jax.tree.leaves(state.params) if leaf.ndim > 1)
    tokens = max(rows * max(lengths) for rows, *lengths in setup.plan.shapes)
    most = setup.recipe.training.device_tokens
    devices = 1 if jax.default_backend() == "cpu" else jax.device_count()
    of_device = tokens // devices if most is None else min(tokens // devices, most)
    return STATES * held + NUMBERS_AN_OUTPUT * 4 * outputs * of_device
