"""How a process joins the others of its command: by the environment of a cluster, or by ours."""

import os
import sys
import threading
from collections.abc import Mapping
from typing import NoReturn

import jax

from attnjax.errors import UserError, first_line

SECONDS_TO_JOIN = 300  # the longest wait for the coordinator and for the other processes

# environment variables: the first process's HOST:PORT, the number of processes, and our number
COORDINATOR, COUNT, INDEX = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"

ALONE = f"; a process that is to run alone has {COUNT}=1 in its environment"


def join(environment: Mapping[str, str] = os.environ) -> None:
    """Join the other processes of this command, if the environment says that there are others.

    The environment is that of SLURM, Open MPI, Kubernetes or a TPU slice, in which JAX finds the
    other processes, or has the variables `COORDINATOR`, `COUNT` and `INDEX`. A count of 1 means
    that the process is alone, in a cluster too. Call this before a device is used. If the others
    cannot be reached, the process ends at once, without an exception.

    Raises:
        UserError: the environment is incomplete or contradicts itself, or they cannot be joined.
    """
    if is_alone(environment):
        return
    given = _given(environment)
    address, count, index = given or (environment.get(COORDINATOR), None, None)
    where = address or "the address that the cluster gives"
    giving_up = threading.Timer(SECONDS_TO_JOIN, _unreachable, (where, count, index))
    giving_up.daemon = True
    giving_up.start()
    try:
        jax.distributed.initialize(
            address,
            count,
            index,
            local_device_ids=_devices(environment),
            # JAX aborts the process with a trace of C++ when its time is over: ours is over first
            initialization_timeout=2 * SECONDS_TO_JOIN,
        )
    except (RuntimeError, ValueError, OSError) as error:
        raise UserError(
            f"cannot join the other processes at {where}: {first_line(error)}{ALONE}"
        ) from error
    finally:
        giving_up.cancel()


def is_alone(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the environment says of no other processes of this command, see `join`."""
    given = _given(environment)
    return environment.get(COUNT) == "1" or (given is None and not _cluster(environment))


def _given(environment: Mapping[str, str]) -> tuple[str, int, int] | None:
    """Return coordinator, process count and process id from JAX's variables, or None if not set."""
    missing = [name for name in (COUNT, INDEX) if name not in environment]
    if len(missing) == 1 and environment.get(COUNT) != "1":
        raise UserError(f"{COUNT} and {INDEX} belong together; {missing[0]} is not set")
    if missing:
        return None
    count, index = (_number(name, environment[name]) for name in (COUNT, INDEX))
    if not index < count:
        raise UserError(f"{INDEX} must be less than {COUNT}, which is {count}; got {index}")
    if count == 1:
        return None
    address = environment.get(COORDINATOR, "")
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 2**16:
        raise UserError(
            f"{COORDINATOR} must be HOST:PORT of the first of the {count} processes; "
            f"got {address!r}"
        )
    return address, count, index


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise UserError(f"{name} must be a whole number; got {value!r}")
    return int(value)


def _cluster(environment: Mapping[str, str]) -> bool:
    """Return whether a cluster has started this and other processes with one command.

    An allocation of SLURM, a pod or a machine with a TPU may also hold a process that is alone.
    """
    slurm = environment.get("SLURM_STEP_NUM_TASKS", "1")
    mpi = environment.get("OMPI_COMM_WORLD_SIZE", "1")
    if slurm != "1" or mpi != "1" or "JOB_COMPLETION_INDEX" in environment:
        return True
    # what JAX asks on a TPU's machine; elsewhere both say at once that there is none
    from jax._src.clusters import GceTpuCluster, GkeTpuCluster

    slices = (GkeTpuCluster, GceTpuCluster)
    return any(cluster.is_env_present() and cluster.get_process_count() > 1 for cluster in slices)


def _devices(environment: Mapping[str, str]) -> list[int] | None:
    """Return the machine's devices that this process uses; []: all; None: JAX's default, one."""
    # SLURM's only process of a machine uses all devices, where JAX would leave it one
    alone = environment.get("SLURM_STEP_TASKS_PER_NODE", "").split("(")[0] == "1"
    return [] if alone and "JAX_LOCAL_DEVICE_IDS" not in environment else None


def _unreachable(where: str, count: int | None, index: int | None) -> None:
    """End the process: JAX cannot be called back from its wait."""
    reason = f"the coordinator at {where} cannot be reached"
    if index == 0:
        reason = f"not all of the {count} processes came to {where}"
    print(f"attnjax: {reason}; waited {SECONDS_TO_JOIN} s{ALONE}", file=sys.stderr)
    end_process(2)


def end_process(code: int) -> NoReturn:
    """End the process at once."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
