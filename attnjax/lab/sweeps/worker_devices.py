"""What each worker of a sweep computes on: a core of its own, or an accelerator of its own.

Nothing here imports JAX: the process that starts the workers must not hold an accelerator.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Literal

from attnjax.config.machine import THREADS, cores
from attnjax.errors import UserError

AUTO = "auto"
type Jobs = int | Literal["auto"]
"""How many workers: a number, or one for each core or accelerator."""

type DeviceKind = Literal["cpu", "cuda", "rocm", "tpu"]

VISIBLE = {
    "cuda": "CUDA_VISIBLE_DEVICES",
    "rocm": "HIP_VISIBLE_DEVICES",
    "tpu": "TPU_VISIBLE_CHIPS",
}
"""The environment variable that says which accelerators a process sees."""

OLDER = {"tpu": "TPU_VISIBLE_DEVICES"}
"""An older name of such a variable."""

OF_JAX = {"cuda": "JAX_CUDA_VISIBLE_DEVICES", "rocm": "JAX_ROCM_VISIBLE_DEVICES"}
"""JAX's own choice out of those; once a single one is left, it takes that."""

PORT = 8476
"""The port of the first process of a TPU's machine; those of the others follow."""

NAMES = {"cpu": "core", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}

ASK = """
import json, jax
devices = jax.local_devices()
kind = devices[0].platform
if kind == "gpu":
    kind = "rocm" if "rocm" in devices[0].client.platform_version else "cuda"
# some TPUs have two devices a chip
chips = {tuple(device.coords): None for device in devices} if kind == "tpu" else {}
numbers = range(len(chips)) if chips else [device.local_hardware_id for device in devices]
print(json.dumps([kind, [*numbers]]))
"""
"""A program that prints the kind of this machine's devices, and their numbers."""


@dataclass(frozen=True, kw_only=True)
class UsableDevices:
    """The devices that this command may use.

    Attributes:
        numbers: those of cores, or those by which JAX's runtime counts accelerators.
        bind: whether a process can be bound to a core; macOS cannot.
    """

    kind: DeviceKind
    numbers: Sequence[int]
    bind: bool = hasattr(os, "sched_setaffinity")


@dataclass(frozen=True, kw_only=True)
class WorkerDevice:
    """What a worker computes on.

    Attributes:
        core: the core that it is bound to; None: it is not bound.
        variables: what its environment has; None: what it has not.
    """

    core: int | None = None
    variables: Mapping[str, str | None] = field(default_factory=dict)

    def of(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the worker's environment."""
        every = {**environment, **self.variables}
        return {name: value for name, value in every.items() if value is not None}


def worker_devices(
    usable: UsableDevices, jobs: Jobs, environment: Mapping[str, str]
) -> list[WorkerDevice]:
    """Return what each of the workers is given.

    Raises:
        UserError: there are more workers than devices.
    """
    count = len(usable.numbers)
    wanted = count if jobs == AUTO else jobs
    if wanted > count:
        name = NAMES[usable.kind] + "s" * (count != 1)
        raise UserError(
            f"--jobs takes at most one worker for each of the {count} {name} that this command may "
            f"use; got {wanted}"
        )
    numbers = usable.numbers[:wanted]
    if usable.kind != "cpu":
        return [
            WorkerDevice(variables=_seen(usable.kind, number, place, environment))
            for place, number in enumerate(numbers)
        ]
    if not usable.bind:
        return [WorkerDevice(variables={THREADS: "1"})] * wanted
    return [WorkerDevice(core=number) for number in numbers]


def _seen(
    kind: DeviceKind, number: int, place: int, environment: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the variables of a process that sees one accelerator alone."""
    variable, older = VISIBLE[kind], OLDER.get(kind, "")
    before = environment.get(variable) or environment.get(older)
    # a user's own choice may name accelerators by other words than numbers
    name = before.split(",")[number].strip() if before else str(number)
    if kind != "tpu":
        return {variable: name, OF_JAX[kind]: None}
    return {
        variable: name,
        older: None,
        "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
        "TPU_PROCESS_BOUNDS": "1,1,1",
        "TPU_PROCESS_ADDRESSES": f"localhost:{PORT + place}",
        "TPU_PROCESS_PORT": str(PORT + place),
        "CLOUD_TPU_TASK_ID": "0",
    }


def usable_devices(environment: Mapping[str, str]) -> UsableDevices:
    """Return the devices that this command may use.

    Accelerators are asked for in a process that ends before the workers start: who asks JAX for
    them holds them.
    """
    on_cpu = UsableDevices(kind="cpu", numbers=cores())
    if environment.get("JAX_PLATFORMS") == "cpu" or not _plugins(environment):
        return on_cpu
    asked = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**environment, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if asked.returncode:  # every worker says why
        return on_cpu
    kind, numbers = json.loads(asked.stdout.splitlines()[-1])
    if kind == "cpu":
        return on_cpu
    if kind not in NAMES:
        raise UserError(f"--jobs is for cores, GPUs of CUDA or ROCm, and TPUs; here is {kind}")
    return UsableDevices(kind=kind, numbers=numbers)


def _plugins(environment: Mapping[str, str]) -> bool:
    """Return whether JAX is installed for anything but CPUs: only then is it asked, for seconds."""
    return (
        "PJRT_NAMES_AND_LIBRARY_PATHS" in environment
        or any(find_spec(name) for name in ("jax_plugins", "libtpu"))
        or bool(entry_points(group="jax_plugins"))
    )
