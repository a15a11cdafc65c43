"""Bytes that a compiled program moves: between memory and chip, and between devices."""

from collections.abc import Sequence
from dataclasses import dataclass

from attnjax.rehearsal.hlo import Array, CompiledProgram, Computation, Instruction

NO_TRAFFIC = (
    *("parameter", "constant", "iota", "partition-id", "replica-id"),
    *("tuple", "get-tuple-element", "bitcast", "opt-barrier", "add-dependency", "after-all"),
    *("async-update", "async-done"),
)
"""Operations that move nothing, or only name what is there."""

NOT_COUNTED = (
    *("AllocateBuffer", "ConcatBitcast", "AssumeGatherIndicesInBound"),  # they move nothing
    "tpu_custom_call",  # see `attnjax.rehearsal.kernels`
)
"""Targets of custom calls whose operands and results do not count."""

READS_PART = ("dynamic-slice", "slice", "gather")
"""Operations that read no more of their first operand than their result holds."""

WRITES_PART = {"dynamic-update-slice": 1, "scatter": 2}
"""Operations that change a part of their first operand, and the number of the operand with it."""

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")


@dataclass(frozen=True)
class Collective:
    """An exchange between devices.

    Attributes:
        kind: XLA's name, such as all-reduce.
        times: how often a step does it.
        bytes: of the whole arrays that are exchanged once, on one device.
    """

    kind: str
    times: int
    bytes: int


@dataclass(frozen=True)
class Traffic:
    """The bytes that the instructions of a program move."""

    program: CompiledProgram

    def memory_bytes(self) -> int:
        """Bytes that a step reads from and writes to a device's memory.

        An instruction, which may be a fusion of many, reads its operands and writes its result
        once. Where it takes a slice or rows of an operand it reads these, and where it updates an
        array in place it writes the update. What stays on the chip does not count, nor do kernels
        written in Pallas.
        """
        return sum(times * self.moved(where, op) for where, op, times in self.program.runs())

    def collectives(self) -> list[Collective]:
        """The exchanges of a step, in their order."""
        exchanges = []
        for where, op, times in self.program.runs():
            kind = op.opcode.removesuffix("-start")
            if kind in COLLECTIVES:
                read = _size(_operands(where, op))
                # the result of a start holds the operands, too
                both = op.opcode != kind and len(op.arrays) > len(op.operands)
                exchanges.append(Collective(kind, times, max(read, _size(op.arrays) - read * both)))
        return exchanges

    def moved(self, where: Computation, op: Instruction) -> int:
        """Bytes that an instruction of a computation moves when it runs once."""
        if op.opcode in NO_TRAFFIC or op.opcode.endswith("-start"):
            return 0
        if any(target in op.text for target in NOT_COUNTED):
            return 0
        operands = _operands(where, op)
        if op.opcode.endswith("-done"):
            # what a transfer has written is as large as what it has read
            sources = _operands(where, where.instructions[op.operands[0]])
            return _size(op.arrays) * any(x.in_memory for x in sources) + _in_memory(op.arrays)
        if op.opcode == "fusion":
            return self._fusion(self.program.called(op, "calls"), operands, op.arrays)
        if op.opcode in WRITES_PART:
            return 2 * operands[WRITES_PART[op.opcode]].bytes * operands[0].in_memory
        if op.opcode in READS_PART:
            return _size(op.arrays) * operands[0].in_memory + _in_memory(op.arrays)
        return _in_memory(operands) + _in_memory(op.arrays)

    def _fusion(
        self, fused: Computation, operands: Sequence[Array], results: Sequence[Array]
    ) -> int:
        """Bytes that a fusion reads and writes."""
        total = 0
        for parameter, array in zip(fused.parameters, operands, strict=True):
            if array.in_memory:
                total += min(array.bytes, self._read(fused, parameter.name, array.bytes))
        root = fused.root
        written = (
            [fused.instructions[x] for x in root.operands] if root.opcode == "tuple" else [root]
        )
        for op, array in zip(written, results, strict=True):
            if array.in_memory:
                total += min(array.bytes, self._written(fused, op, array.bytes))
        return total

    def _read(self, fused: Computation, name: str, whole: int) -> int:
        """Bytes of an array of this size that the instructions of a fusion read."""
        total = 0
        for reader in fused.readers[name]:
            first, *others = reader.operands
            if reader.opcode == "bitcast":
                total += self._read(fused, reader.name, whole)
            elif reader.opcode == "fusion":
                inner = self.program.called(reader, "calls")
                for parameter, operand in zip(inner.parameters, reader.operands, strict=True):
                    total += self._read(inner, parameter.name, whole) if operand == name else 0
            elif name in others or reader.opcode not in (*READS_PART, *WRITES_PART):
                total += whole
            elif first == name and reader.opcode in READS_PART:
                total += _size(reader.arrays)
        return total

    def _written(self, fused: Computation, result: Instruction, whole: int) -> int:
        """Bytes of a result of this size that a fusion writes."""
        if result.opcode == "bitcast":
            return self._written(fused, fused.instructions[result.operands[0]], whole)
        if result.opcode == "fusion":
            inner = self.program.called(result, "calls")
            return self._written(inner, inner.root, whole)
        if result.opcode in WRITES_PART:
            return _size(fused.instructions[result.operands[WRITES_PART[result.opcode]]].arrays)
        return whole


def _operands(where: Computation, op: Instruction) -> list[Array]:
    """The arrays that an instruction reads."""
    return [array for name in op.operands for array in where.instructions[name].arrays]


def _size(arrays: Sequence[Array]) -> int:
    """The bytes of arrays, wherever they are."""
    return sum(array.bytes for array in arrays)


def _in_memory(arrays: Sequence[Array]) -> int:
    """The bytes of those arrays that are in the device's memory."""
    return sum(array.bytes for array in arrays if array.in_memory)
