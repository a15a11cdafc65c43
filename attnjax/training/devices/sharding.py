"""Data-parallel and FSDP execution of a training step. Only this module handles devices.

Every process has the whole batch on its host, puts its own devices' rows on them, and calls the
same steps in the same order.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from attnjax.errors import UserError
from attnjax.nn.axes import DATA
from attnjax.nn.platform import compiled_for, platform_of
from attnjax.training.devices import hosts
from attnjax.training.settings import Parallel
from attnjax.training.step import OverDevices

WHOLE = -1  # the axis of an array that is not divided

# arrays with fewer elements are not divided: to gather them costs more than they weigh
SMALL = 1024


class Step(Protocol):
    """A pure function of a state or parameters, and a batch, see `attnjax.training.step`."""

    def __call__(self, held: Any, batch: Any, /, *, over_devices: OverDevices) -> Any: ...


def devices(how: Parallel, *, rows: int, seeds: bool) -> "Devices":
    """Return as many devices as divide `rows`, a divisor of the rows of every batch.

    Other devices stay idle, and every process has equally many. With `seeds` all arrays have a
    leading axis of seeds, over which the step is mapped.
    """
    processes = hosts.count()
    if rows % processes:
        raise UserError(
            f"batching.batch_size_multiple must be a multiple of the {processes} processes, got "
            f"{rows}: --training.batching.batch_size_multiple {jax.device_count()} uses all "
            f"{jax.device_count()} devices"
        )
    local = max(n for n in range(1, jax.local_device_count() + 1) if rows % (n * processes) == 0)
    used = [device for n in range(processes) for device in jax.local_devices(n)[:local]]
    return devices_of(used, how, seeds=seeds)


def devices_of(used: Sequence[Any], how: Parallel, *, seeds: bool) -> "Devices":
    """Wrap JAX devices. A step for devices of another machine can be compiled, not run."""
    mesh = Mesh(np.asarray(used), (DATA,), axis_types=(AxisType.Auto,))
    return {"mesh": Devices, "pmap": Mapped, "fsdp": Divided}[how](mesh, seeds)


@dataclass(frozen=True)
class Devices:
    """Devices that each take some rows of every batch: `jax.shard_map` over a mesh.

    A step reads its device's rows, and `psum` adds up sums. XLA could divide the global batch by
    itself, but would then add up the gradient of a matrix used in a loop over time at every word.
    """

    mesh: Mesh
    seeds: bool

    @property
    def count(self) -> int:
        return self.mesh.size

    @property
    def idle(self) -> int:
        """The number of devices that are not used."""
        return jax.device_count() - self.count

    def replicate(self, tree: Any) -> Any:
        """Put a state or parameters, equal in all processes, on the devices."""
        return jax.tree.map(lambda x: _put(x, self._place(x.shape)), tree)

    def shard(self, batch: Any) -> Any:
        """Divide the rows of a batch of host arrays among the devices."""
        self._rows(batch)
        return _put(batch, NamedSharding(self.mesh, self._rows_axes()))

    def compile(self, step: Step, *, donate: bool) -> Callable[[Any, Any], Any]:
        """Compile the step for all devices; with `donate` the first argument's memory is reused."""
        shared = jax.shard_map(
            self._known(step, _sum_here),
            mesh=self.mesh,
            in_specs=(PartitionSpec(), self._rows_axes()),
            out_specs=PartitionSpec(),
            # otherwise JAX would add up gradients by itself, one by one
            check_vma=False,
        )
        return jax.jit(shared, donate_argnums=0 if donate else ())

    def shapes(self, held: Any, batch: Any) -> tuple[Any, Any]:
        """Return the shapes of a compiled step's arguments, from those of state and batch."""
        self._rows(batch)
        rows = NamedSharding(self.mesh, self._rows_axes())

        def put(x: Any, sharding: NamedSharding) -> Any:
            return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)

        held = jax.tree.map(lambda x: put(x, self._place(x.shape)), held)
        return held, jax.tree.map(lambda x: put(x, rows), batch)

    def fetch(self, tree: Any) -> Any:
        """Return the result of a compiled step or of `replicate`, as a local device has it."""
        return jax.tree.map(_whole, tree)

    def _known(self, step: Step, over_devices: OverDevices) -> Callable[[Any, Any], Any]:
        """Return the step, traced for the platform of these devices and mapped over seeds."""
        platform = platform_of(self.mesh.devices.flat[0])

        def call(held: Any, batch: Any) -> Any:
            with compiled_for(platform):
                return step(held, batch, over_devices=over_devices)

        return jax.vmap(call) if self.seeds else call

    def _rows(self, batch: Any) -> int:
        """Return the number of rows of a device."""
        rows = batch.target.shape[self.seeds]
        if rows % self.count:
            raise UserError(
                f"a batch's rows must be a multiple of the {self.count} devices, got {rows}: "
                "set the batching's batch_size_multiple to a multiple of the number of devices"
            )
        return rows // self.count

    def _rows_axes(self) -> PartitionSpec:
        return PartitionSpec(None, DATA) if self.seeds else PartitionSpec(DATA)

    def _place(self, shape: tuple[int, ...]) -> NamedSharding:
        """Return the sharding of an array of a state or of a result: replicated."""
        return NamedSharding(self.mesh, PartitionSpec())


class Divided(Devices):
    """Parameters and optimizer states are divided among the devices of a mesh (fsdp, ZeRO 3).

    A device holds a slice of every array, and updates it. For a step it gathers the parameters, and
    the gradients are added up in slices ("reduce-scatter"). Every array is divided along its
    longest axis that the number of devices divides; small arrays are whole on every device.
    """

    def compile(self, step: Step, *, donate: bool) -> Callable[[Any, Any], Any]:
        known = self._known(step, self._sum)

        def sliced(held: Any, batch: Any) -> Any:
            results = known(held, batch)
            return jax.lax.with_sharding_constraint(
                results, jax.tree.map(lambda x: self._place(x.shape), results)
            )

        return jax.jit(sliced, donate_argnums=0 if donate else ())

    def _sum[T](self, function: Callable[[Any, Any], T], held: Any, batch: Any) -> T:
        over_rows = partial(
            jax.shard_map,
            mesh=self.mesh,
            in_specs=(PartitionSpec(), PartitionSpec(DATA)),
            check_vma=False,
        )
        shapes = jax.eval_shape(over_rows(function, out_specs=PartitionSpec()), held, batch)
        axes = jax.tree.map(lambda x: self._divided_axis(x.shape), shapes)

        def add(x: jax.Array, axis: int) -> jax.Array:
            if axis == WHOLE:
                return jax.lax.psum(x, DATA)
            return jax.lax.psum_scatter(x, DATA, scatter_dimension=axis, tiled=True)

        def summed(held: Any, rows: Any) -> T:
            return jax.tree.map(add, function(held, rows), axes)

        return over_rows(summed, out_specs=jax.tree.map(_along, axes))(held, batch)

    def _place(self, shape: tuple[int, ...]) -> NamedSharding:
        """Return the sharding of an array; an axis of seeds is not divided."""
        seeds = (None,) * self.seeds
        axes = _along(self._divided_axis(shape[self.seeds :]))
        return NamedSharding(self.mesh, PartitionSpec(*seeds, *axes))

    def _divided_axis(self, shape: tuple[int, ...]) -> int:
        axes = [axis for axis, length in enumerate(shape) if length % self.count == 0]
        if not axes or math.prod(shape) < SMALL:
            return WHOLE
        return max(axes, key=lambda axis: shape[axis])


def _along(axis: int) -> PartitionSpec:
    return PartitionSpec() if axis == WHOLE else PartitionSpec(*(None,) * axis, DATA)


class Mapped(Devices):
    """The same by `jax.pmap`; a process sees its own devices' part of every array."""

    def replicate(self, tree: Any) -> Any:
        count = self.mesh.local_mesh.size

        def copies(tree: Any) -> Any:
            return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), tree)

        return jax.jit(copies, out_shardings=self._own())(tree)

    def shard(self, batch: Any) -> Any:
        rows, axis = self._rows(batch), int(self.seeds)

        def split(x: np.ndarray) -> np.ndarray:
            x = x.reshape(*x.shape[:axis], self.count, rows, *x.shape[axis + 1 :])
            own = self.mesh.local_mesh.size
            return np.moveaxis(x, axis, 0)[hosts.index() * own :][:own]

        return jax.device_put(jax.tree.map(split, batch), self._own())

    def compile(self, step: Step, *, donate: bool) -> Callable[[Any, Any], Any]:
        return jax.pmap(
            self._known(step, _sum_here),
            axis_name=DATA,
            devices=list(self.mesh.devices),
            donate_argnums=0 if donate else (),
        )

    def shapes(self, held: Any, batch: Any) -> tuple[Any, Any]:
        rows, axis = self._rows(batch), int(self.seeds)

        def part(x: Any) -> Any:
            own = (self.count, *x.shape[:axis], rows, *x.shape[axis + 1 :])
            return jax.ShapeDtypeStruct(own, x.dtype)

        def copies(x: Any) -> Any:
            return jax.ShapeDtypeStruct((self.count, *x.shape), x.dtype)

        return jax.tree.map(copies, held), jax.tree.map(part, batch)

    def fetch(self, tree: Any) -> Any:
        return _first(tree)

    def _own(self) -> NamedSharding:
        """Return the sharding of an array with a leading axis of this process's devices."""
        return NamedSharding(self.mesh.local_mesh, PartitionSpec(DATA))


def _sum_here[T](function: Callable[[Any, Any], T], held: Any, batch: Any) -> T:
    """Sum over all devices by an all-reduce; each device computes its own rows of the batch."""
    return jax.lax.psum(function(held, batch), DATA)


def _whole(x: jax.Array) -> Any:
    """Return an array that this process can read, gathered from all processes if need be."""
    if x.is_fully_addressable:
        return x
    if x.is_fully_replicated:
        return x.addressable_data(0)
    return multihost_utils.process_allgather(x, tiled=True)


def _put(tree: Any, sharding: NamedSharding) -> Any:
    """Put host arrays, equal in all processes, on the devices; each process puts its own part."""
    if sharding.is_fully_addressable:
        return jax.device_put(tree, sharding)

    def put(leaf: Any) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(put(jax.random.key_data(leaf)))
        array = np.asarray(leaf)
        return jax.make_array_from_callback(array.shape, sharding, array.__getitem__)

    return jax.tree.map(put, tree)


@jax.jit
def _first(tree: Any) -> Any:
    return jax.tree.map(lambda x: x[0], tree)
