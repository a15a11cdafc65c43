"""Bytes that a compiled program moves: between memory and chip, and between chips.

XLA's text of a program does not describe kernels written in Pallas: those are read from its jaxpr.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from jax.extend.core import Literal  # pyright: ignore[reportPrivateImportUsage]

from attnjax.evaluation.flops import total
from attnjax.lab.rehearsal.hlo import Array, Computation, Instruction

NO_TRAFFIC = (
    *("parameter", "constant", "iota", "partition-id", "replica-id"),
    *("tuple", "get-tuple-element", "bitcast", "opt-barrier", "add-dependency", "after-all"),
    *("async-update", "async-done"),
)
"""Operations that move nothing, or only name an array."""

NOT_COUNTED = (
    *("AllocateBuffer", "ConcatBitcast", "AssumeGatherIndicesInBound"),  # they move nothing
    "tpu_custom_call",  # see `kernel_bytes`
)
"""Targets of custom calls whose operands and results do not count."""

READS_PART = ("dynamic-slice", "slice", "gather")
"""Operations that read no more of their first operand than their result holds."""

WRITES_PART = {"dynamic-update-slice": 1, "scatter": 2}
"""Operations that change a part of their first operand, and the number of the operand with it."""

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")

BEGINS, ENDS = "AsyncCollectiveStart", "AsyncCollectiveDone"
"""Targets of custom calls by which a TPU's fusions begin and end an exchange.

Fusions between them name the exchange, too, and hand its arrays on while they compute.
"""


@dataclass(frozen=True)
class Collective:
    """An exchange between devices, by XLA's name, such as all-reduce.

    A step repeats it `times` times; `bytes` are those of its whole arrays, on one device.
    """

    kind: str
    times: int
    bytes: int


def memory_bytes(program: Computation) -> int:
    """Count the bytes that a step reads from and writes to a device's memory.

    An instruction, which may be a fusion of many, reads its operands and writes its result once.
    Where it takes a slice or rows of an operand it reads these, and where it updates an array in
    place it writes the update. What stays on the chip does not count, nor do kernels written in
    Pallas.
    """
    return sum(times * _moved(op) for op, times in program.runs())


def collectives(program: Computation) -> list[Collective]:
    """Return the exchanges of a step, in their order."""
    exchanges, fused = [], set[str]()
    for op, times in program.runs():
        exchanges += _collective(op, times)
        inner = op.called("calls").instructions.values() if op.opcode == "fusion" else ()
        for part in inner:
            channel = re.findall(r"channel_id=\d+", part.text)
            if not channel or not fused.issuperset(channel):
                exchanges += _collective(part, times)
            fused.update(channel)
    return exchanges


def _collective(op: Instruction, times: int) -> list[Collective]:
    """Return the exchange that an instruction is; [] if it is none."""
    kind = op.opcode.removesuffix("-start")
    if kind not in COLLECTIVES:
        return []
    read = _size(_read_by(op))
    # the result of a start holds the operands, too
    both = op.opcode != kind and len(op.arrays) > len(op.operands)
    return [Collective(kind, times, max(read, _size(op.arrays) - read * both))]


def _moved(op: Instruction) -> int:
    """Count the bytes that an instruction moves when it runs once."""
    if op.opcode in NO_TRAFFIC or op.opcode.endswith("-start"):
        return 0
    if any(target in op.text for target in NOT_COUNTED):
        return 0
    operands = _read_by(op)
    if op.opcode.endswith("-done"):
        # a transfer writes as much as it reads
        sources = _read_by(op.operands[0])
        return _size(op.arrays) * any(x.in_memory for x in sources) + _in_memory(op.arrays)
    if op.opcode == "fusion":
        return _moved_by_fusion(op)
    if op.opcode in WRITES_PART:
        return 2 * operands[WRITES_PART[op.opcode]].bytes * operands[0].in_memory
    if op.opcode in READS_PART:
        return _size(op.arrays) * operands[0].in_memory + _in_memory(op.arrays)
    return _in_memory(operands) + _in_memory(op.arrays)


def _moved_by_fusion(op: Instruction) -> int:
    """Count the bytes that a fusion reads and writes when it runs once."""
    fused = op.called("calls")
    if ENDS in fused.root.text:
        return 0
    if BEGINS in fused.root.text:
        # its results are the operand, the whole array, and flags
        return _in_memory(_read_by(op)) + _in_memory(op.arrays[1:2])
    results = fused.root.operands if fused.root.opcode == "tuple" else [fused.root]
    read = zip(fused.parameters, _read_by(op), strict=True)
    written = zip(results, op.arrays, strict=True)
    moved = [(array, _read(parameter, array.bytes)) for parameter, array in read]
    moved += [(array, _written(result, array.bytes)) for result, array in written]
    return sum(min(array.bytes, count) for array, count in moved if array.in_memory)


def _read(source: Instruction, whole: int) -> int:
    """Count the bytes that the instructions of a fusion read of a result of `whole` bytes."""
    total = 0
    for reader in source.readers:
        if reader.opcode == "bitcast":
            total += _read(reader, whole)
        elif reader.opcode == "tuple" or _is_handed_on(reader):
            continue
        elif reader.opcode == "fusion":
            inner = reader.called("calls").parameters
            for parameter, operand in zip(inner, reader.operands, strict=True):
                total += _read(parameter, whole) if operand is source else 0
        elif source in reader.operands[1:] or reader.opcode not in (*READS_PART, *WRITES_PART):
            total += whole
        elif reader.opcode in READS_PART:
            total += _size(reader.arrays)
    return total


def _written(result: Instruction, whole: int) -> int:
    """Count the bytes that a fusion writes of a result of `whole` bytes."""
    if result.opcode == "parameter" or _is_handed_on(result):
        return 0
    if result.opcode == "bitcast":
        return _written(result.operands[0], whole)
    if result.opcode == "fusion":
        return _written(result.called("calls").root, whole)
    if result.opcode in WRITES_PART:
        return _size(result.operands[WRITES_PART[result.opcode]].arrays)
    return whole


def _is_handed_on(op: Instruction) -> bool:
    """Return whether a fusion names an exchange that another has begun."""
    return op.opcode in COLLECTIVES and any(reader.opcode == "tuple" for reader in op.readers)


def _read_by(op: Instruction) -> list[Array]:
    """Return the arrays that an instruction reads."""
    return [array for operand in op.operands for array in operand.arrays]


def _size(arrays: Sequence[Array]) -> int:
    """Count the bytes of arrays, in any memory."""
    return sum(array.bytes for array in arrays)


def _in_memory(arrays: Sequence[Array]) -> int:
    """Count the bytes of the arrays that are in the device's memory."""
    return sum(array.bytes for array in arrays if array.in_memory)


LANES = 128
"""A TPU pads the last axis of an array to a multiple of this."""


def kernel_bytes(jaxpr: Any) -> int:
    """Bound the bytes that Pallas kernels read from and write to a TPU's memory.

    A kernel runs once for every point of its grid, in order, and works on a block of each array. A
    block is moved when it changes: at every step along the last axis of the grid that its index
    depends on, and along the axes before that. Blocks that a kernel skips because of a mask count.
    """
    return total(jaxpr, _moved_by_kernel)


def _moved_by_kernel(equation: Any) -> int | None:
    """Count the bytes of a kernel; None if the equation is no kernel."""
    if equation.primitive.name != "pallas_call":
        return None
    grid = equation.params["grid_mapping"]
    return sum(_block_bytes(block, grid.grid) for block in grid.block_mappings)


def _block_bytes(block: Any, grid: tuple[int, ...]) -> int:
    """Count the bytes of an array's blocks that are moved."""
    aval = block.transformed_block_aval
    steps = prod(grid[: _last_axis(block.index_map_jaxpr.jaxpr, len(grid)) + 1])
    *rows, columns = aval.shape
    return steps * prod(rows) * (columns + -columns % LANES) * aval.dtype.itemsize


def _last_axis(index: Any, axes: int) -> int:
    """Return the last axis of the grid that a block's index depends on; -1 if it is constant."""
    depends = {variable: axis for axis, variable in enumerate(index.invars[:axes])}
    for equation in index.eqns:
        read = [depends.get(x, -1) for x in equation.invars if not isinstance(x, Literal)]
        depends.update(dict.fromkeys(equation.outvars, max(read, default=-1)))
    results = [depends.get(x, -1) for x in index.outvars if not isinstance(x, Literal)]
    return max(results, default=-1)
