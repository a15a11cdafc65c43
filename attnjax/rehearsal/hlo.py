"""A compiled program as XLA writes it: computations, instructions, sizes of arrays."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
        """Whether the device's memory holds the array; the other spaces are on the chip."""
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
        for place, side in enumerate(reversed(tile[1].split(",")) if tile and sizes else ()):
            if place < len(sizes):
                sizes[place] += -sizes[place] % int(side)
        return (prod(sizes) * self._bits + 7) // 8

    @property
    def _bits(self) -> int:
        if self.dtype == "pred":
            return 8
        return int(re.sub(r"^[a-z]+(\d+).*$", r"\1", self.dtype))


@dataclass(frozen=True)
class Instruction:
    """An operation of a program.

    Attributes:
        name: of its result.
        opcode: XLA's name of the operation.
        arrays: the result; several if it is a tuple.
        operands: the names of the instructions whose results it reads.
        root: whether it gives the result of its computation.
    """

    name: str
    opcode: str
    arrays: tuple[Array, ...]
    operands: tuple[str, ...]
    text: str
    root: bool

    @cached_property
    def calls(self) -> dict[str, tuple[str, ...]]:
        """The names of the computations that it calls, by the part that they play."""
        callees: dict[str, tuple[str, ...]] = {}
        for part, several, single in CALLED.findall(self.text):
            names = several.split(",") if several else [single]
            callees[part] = tuple(name.strip().lstrip("%") for name in names)
        return callees


@dataclass(frozen=True)
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

    @cached_property
    def readers(self) -> dict[str, list[Instruction]]:
        """The instructions that read each result."""
        readers: dict[str, list[Instruction]] = {name: [] for name in self.instructions}
        for op in self.instructions.values():
            for name in set(op.operands):
                readers.setdefault(name, []).append(op)
        return readers


@dataclass(frozen=True)
class CompiledProgram:
    """A compiled program of one device."""

    computations: dict[str, Computation]
    entry: Computation

    def called(self, instruction: Instruction, part: str) -> Computation:
        """The first computation that an instruction calls as this part."""
        return self.computations[instruction.calls[part][0]]

    def runs(self) -> Iterator[tuple[Computation, Instruction, int]]:
        """Each instruction that runs by itself, with its computation and how often it runs.

        Fusions and the functions of reductions are one instruction. Of branches the longest counts.
        """
        yield from self._runs(self.entry, 1)

    def _runs(
        self, computation: Computation, times: int
    ) -> Iterator[tuple[Computation, Instruction, int]]:
        for op in computation.instructions.values():
            if op.opcode == "while":
                yield from self._runs(self.called(op, "body"), times * self.trips(op))
            elif op.opcode == "conditional":
                branches = [name for names in op.calls.values() for name in names]
                longest = max(branches, key=lambda name: len(self.computations[name].instructions))
                yield from self._runs(self.computations[longest], times)
            elif op.opcode == "call":
                yield from self._runs(self.called(op, "to_apply"), times)
            elif op.opcode == "async-start" and "calls" in op.calls:
                yield from self._runs(self.called(op, "calls"), times)
            else:
                yield computation, op, times

    def trips(self, loop: Instruction) -> int:
        """How often a loop runs: what XLA found, or else the number that its condition compares.

        A loop of JAX counts from 0. Of a loop whose number is not known one trip counts.
        """
        if known := re.search(r'known_trip_count":\{"n":"(\d+)"', loop.text):
            return int(known[1])
        condition = self.called(loop, "condition")
        bounds = _integers(condition)
        for op in condition.instructions.values():
            if op.opcode == "fusion":
                bounds += _integers(self.called(op, "calls"))
        return max(bounds, default=1)


def parse(text: str) -> CompiledProgram:
    """Read a program from XLA's text of it (`compiled.as_text()`)."""
    computations: dict[str, Computation] = {}
    entry, current = "", dict[str, Instruction]()
    for line in text.splitlines():
        if match := COMPUTATION.match(line):
            current = {}
            computations[match[2]] = Computation(match[2], current)
            entry = match[2] if match[1] else entry
        elif match := INSTRUCTION.match(line):
            op = _instruction(match[2], match[3], root=bool(match[1]))
            current[op.name] = op
    return CompiledProgram(computations, computations[entry])


def _instruction(name: str, text: str, *, root: bool) -> Instruction:
    """Read `TYPE opcode(operands), attributes`."""
    end = _closing(text, 0) + 1 if text.startswith("(") else text.index(" ")
    opcode, _, rest = text[end:].strip().partition("(")
    operands = rest[: _closing("(" + rest, 0) - 1]
    arrays = tuple(
        Array(dtype, tuple(int(axis.lstrip("<=")) for axis in axes.split(",") if axis), layout)
        for dtype, axes, layout in ARRAY.findall(text[:end])
    )
    names = tuple(re.findall(r"%([\w.\-]+)", operands))
    return Instruction(name, opcode, arrays, names, text, root)


def _closing(text: str, start: int) -> int:
    """The place of the parenthesis that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place
    return len(text)


def _integers(computation: Computation) -> list[int]:
    """The integer constants of a computation."""
    lines: Sequence[str] = [op.text for op in computation.instructions.values()]
    matches = [re.search(r"^[su]\d+\[\]\S* constant\((\d+)\)", line) for line in lines]
    return [int(match[1]) for match in matches if match]
