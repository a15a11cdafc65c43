"""The processes that train together; all of it is trivial for a process that is alone.

Only the first process reads and writes files: runs, checkpoints, logs.
"""

import atexit
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count as numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from attnjax.errors import Interrupted, MachineError, UserError, first_line
from attnjax.training.devices.join import end_process, join

SECONDS_TO_FAIL = 20  # the longest wait for the others to fail as this process did

_meetings, _messages = numbers(), numbers()


@contextmanager
def joined() -> Iterator[None]:
    """Join the other processes for the time of a command.

    A process that fails ends without them: they may be waiting for it in a step, where JAX ends
    them.
    """
    join()
    _check_platform()
    try:
        yield
    except Interrupted:  # is no failure: all processes have agreed on it
        raise
    except BaseException as error:
        if count() > 1:
            # JAX's own end would wait for the others, for minutes
            code = 2 if isinstance(error, UserError | MemoryError | OSError) else 1
            atexit.register(end_process, code)
        raise


def _check_platform() -> None:
    """Refuse to begin where JAX_PLATFORMS asks for a device that is not here."""
    if not jax.config.jax_platforms:
        return
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:
        # JAX asserts where the platform's plugin is not installed
        reason = str(error).partition("\n")[0] or "JAX is not installed for it"
        raise UserError(
            f"JAX_PLATFORMS asks for {jax.config.jax_platforms}, and there is no such device: "
            f"{reason}; make setup EXTRA=cuda, or EXTRA=tpu, installs JAX for it"
        ) from error


def gone(error: Exception) -> MachineError:
    """Return the error to raise for one that not all processes have met."""
    return MachineError(
        f"{first_line(error)}: the other processes have not met this error, or have ended; the "
        "same command goes on from what is saved"
    )


def count() -> int:
    """Return the number of processes."""
    return jax.process_count() if jax.distributed.is_initialized() else 1


def index() -> int:
    """Return the number of this process, from 0."""
    return jax.process_index() if jax.distributed.is_initialized() else 0


def is_first() -> bool:
    """Return whether this process is the one that reads and writes files."""
    return index() == 0


def begin_to_agree(value: int) -> Callable[[], int]:
    """Start an all-reduce of the greatest value; return a function that waits for the result.

    The devices compare the values meanwhile: who calls it a training step later does not wait.
    """
    if count() == 1:
        return lambda: value
    mesh, greatest = _greatest()
    given = jax.make_array_from_process_local_data(
        NamedSharding(mesh, PartitionSpec("processes")), np.full(1, value, np.int32)
    )
    result = greatest(given)
    return lambda: int(result.addressable_data(0))


@cache
def _greatest() -> tuple[Mesh, Callable[[jax.Array], jax.Array]]:
    """Return a mesh of one device a process, and the compiled maximum over it."""
    devices = np.asarray([jax.local_devices(number)[0] for number in range(count())])
    mesh = Mesh(devices, ("processes",), axis_types=(AxisType.Auto,))
    return mesh, jax.jit(jnp.max, out_shardings=NamedSharding(mesh, PartitionSpec()))


def broadcast_json(value: Any = None) -> Any:
    """Send a JSON value from process 0 to all processes. They wait without a time limit."""
    if count() == 1:
        return value
    key = f"json/{next(_messages)}"
    if is_first():
        _client().key_value_set(key, json.dumps(value))
        return value
    while True:
        with suppress(jax.errors.JaxRuntimeError):  # nothing yet; Ctrl-C is noticed in between
            return json.loads(_client().blocking_key_value_get(key, 5_000))


def all_failed() -> bool:
    """Return whether every process comes here, after an error in a shared computation."""
    try:
        if count() > 1:
            _client().wait_at_barrier(f"failed/{next(_meetings)}", SECONDS_TO_FAIL * 1000)
    except jax.errors.JaxRuntimeError:
        return False
    return True


def broadcast(tree: Any) -> Any:
    """Send process 0's arrays to all processes, bit for bit; the others give the shapes."""
    return tree if count() == 1 else jax.tree.map(_broadcast, tree)


def _broadcast(leaf: Any) -> Any:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        like = jax.eval_shape(jax.random.key_data, leaf)
        return jax.random.wrap_key_data(
            _broadcast(jax.random.key_data(leaf) if is_first() else like)
        )
    array = np.asarray(leaf) if is_first() else np.zeros(leaf.shape, leaf.dtype)
    # JAX adds up what it sends, and -0.0 + 0.0 is 0.0: bytes have no sign
    sent = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    came = np.asarray(multihost_utils.broadcast_one_to_all(sent))
    return came.view(array.dtype).reshape(array.shape)


def _client() -> Any:
    # JAX has no public way to its coordinator
    from jax._src.distributed import global_state

    return global_state.client
