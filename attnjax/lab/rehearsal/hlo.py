"""A compiled program, parsed from XLA's text: computations, instructions, sizes of arrays."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

ARRAY = re.compile(r"([a-z]+\d*[a-z0-9]*)\[([\d,<=]*)\](?:\{([^{}]*)\})?")
INSTRUCTION = re.compile(r"^\s*(ROOT )?%?([\w.\-]+) = (.*)$")
COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
CALLED = re.compile(
    r"(calls|body|condition|to_apply|branch_computations|true_computation|false_computation"
    r"|called_computations|async_wrapped)=(?:\{([^}]*)\}|%?([\w.\-]+))"
)


@dataclass(frozen=True)
class Array:
    """An array of a program.

    Attributes:
        dtype: XLA's name, such as bf16.
        layout: the axes from the fastest to the slowest, then tiles and memory: "1,0:T(8,128)S(1)".
    """

    dtype: str
    shape: tuple[int, ...]
    layout: str = ""

    @property
    def in_memory(self) -> bool:
        """Whether the array is in the device's memory; the other spaces are on the chip."""
        return not re.search(r"S\([1-9]", self.layout)

    @property
    def bytes(self) -> int:
        """The bytes in memory: the axes that a tile covers are padded to whole tiles."""
        if self.dtype in ("token", "opaque"):
            return 0
        order, _, rest = self.layout.partition(":")
        axes = [int(axis) for axis in order.split(",") if axis]
        sizes = [self.shape[axis] for axis in axes] if axes else list(self.shape)
        tile = re.match(r"T\(([\d,]+)\)", rest)
        for axis, side in enumerate(reversed(tile[1].split(",")) if tile and sizes else ()):
            if axis < len(sizes):
                sizes[axis] += -sizes[axis] % int(side)
        bits = 8 if self.dtype == "pred" else int(re.findall(r"\d+", self.dtype)[0])
        return (prod(sizes) * bits + 7) // 8


@dataclass(frozen=True, eq=False)
class Instruction:
    """An operation of a program.

    Attributes:
        arrays: the result; several if it is a tuple.
        calls: the computations that it calls, by their roles.
        root: whether it gives the result of its computation.
    """

    name: str
    opcode: str
    arrays: tuple[Array, ...]
    operands: tuple["Instruction", ...]
    calls: dict[str, tuple["Computation", ...]]
    text: str
    root: bool
    readers: list["Instruction"] = field(default_factory=list)

    def called(self, role: str) -> "Computation":
        """Return the first computation that it calls in a role."""
        return self.calls[role][0]


@dataclass(frozen=True, eq=False)
class Computation:
    """The instructions of a computation, by name, in the order in which they run."""

    name: str
    instructions: dict[str, Instruction]

    @cached_property
    def root(self) -> Instruction:
        """The instruction that gives the computation's result."""
        return next(op for op in self.instructions.values() if op.root)

    @cached_property
    def parameters(self) -> list[Instruction]:
        """The parameters in their order."""
        parameters = [op for op in self.instructions.values() if op.opcode == "parameter"]
        return sorted(parameters, key=lambda op: int(re.findall(r"parameter\((\d+)\)", op.text)[0]))

    def runs(self, times: int = 1) -> Iterator[tuple[Instruction, int]]:
        """Yield each instruction that runs by itself, in called computations too, and how often.

        Fusions and the functions of reductions are one instruction. Of branches the longest counts.
        """
        for op in self.instructions.values():
            if op.opcode == "while":
                yield from op.called("body").runs(times * trips(op))
            elif op.opcode == "conditional":
                branches = [branch for several in op.calls.values() for branch in several]
                longest = max(branches, key=lambda branch: len(branch.instructions))
                yield from longest.runs(times)
            elif op.opcode == "call":
                yield from op.called("to_apply").runs(times)
            elif op.opcode == "async-start" and "calls" in op.calls:
                yield from op.called("calls").runs(times)
            else:
                yield op, times


def trips(loop: Instruction) -> int:
    """Return a loop's number of trips: XLA's figure, or the constant of the loop's condition.

    A loop of JAX counts from 0. A loop of unknown length counts as one trip.
    """
    if known := re.search(r'known_trip_count":\{"n":"(\d+)"', loop.text):
        return int(known[1])
    return max(_integers(loop.called("condition")), default=1)


def parse(text: str) -> Computation:
    """Parse XLA's text of a program, `compiled.as_text()`; return the entry computation.

    XLA writes the operands and called computations of an instruction before the instruction.
    """
    computations: dict[str, Computation] = {}
    entry, current = "", dict[str, Instruction]()
    for line in text.splitlines():
        if match := COMPUTATION.match(line):
            current = {}
            computations[match[2]] = Computation(match[2], current)
            entry = match[2] if match[1] else entry
        elif match := INSTRUCTION.match(line):
            root, name, definition = match.groups()
            current[name] = op = _instruction(name, definition, bool(root), current, computations)
            for operand in set(op.operands):
                operand.readers.append(op)
    return computations[entry]


def _instruction(
    name: str,
    text: str,
    root: bool,
    known: dict[str, Instruction],
    computations: dict[str, Computation],
) -> Instruction:
    """Read `TYPE opcode(operands), attributes`."""
    end = _closing(text) + 1 if text.startswith("(") else text.index(" ")
    opcode, _, rest = text[end:].strip().partition("(")
    arrays = tuple(
        Array(dtype, tuple(int(axis.lstrip("<=")) for axis in axes.split(",") if axis), layout)
        for dtype, axes, layout in ARRAY.findall(text[:end])
    )
    operands = re.findall(r"%([\w.\-]+)", rest[: _closing("(" + rest) - 1])
    calls = {
        part: tuple(computations[x.strip().lstrip("%")] for x in (several or single).split(","))
        for part, several, single in CALLED.findall(text)
    }
    return Instruction(name, opcode, arrays, tuple(known[x] for x in operands), calls, text, root)


def _closing(text: str) -> int:
    """Return the index of the parenthesis that closes the first letter."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return index
    return len(text)


def _integers(computation: Computation) -> Iterator[int]:
    """Yield the integer constants of a computation, and of its fusions."""
    for op in computation.instructions.values():
        if op.opcode == "fusion":
            yield from _integers(op.called("calls"))
        elif match := re.match(r"[su]\d+\[\]\S* constant\((\d+)\)", op.text):
            yield int(match[1])
