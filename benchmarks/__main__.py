"""`python -m benchmarks WORKLOAD ...`: how fast attnjax is, beside another engine.

python -m benchmarks train --peer ../torch/bin/python
python -m benchmarks gpu --peer ../torch/bin/python > bench-gpu.json
python -m benchmarks data --pairs 4500000
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from rich.console import RenderableType

from attnjax.config.serialize import json_text
from attnjax.errors import UserError
from attnjax.lab.cli.command import Program, count, option, positional
from attnjax.lab.cli.main import main
from attnjax.lab.cli.output import keep_compiled, out
from benchmarks import attention, data as corpus, decode, gpu as of_a_gpu, train
from benchmarks.report import changes, machine, read_report, table
from benchmarks.turns import measure, speed_changes
from benchmarks.workload import CPU_SIDE, Workload, product

FAMILIES: dict[str, tuple[Workload, ...]] = {
    "attention": attention.WORKLOADS,
    "windows": attention.WINDOWS,
    "today": attention.TODAY,
    "linear": attention.LINEAR,
    "delta": attention.DELTA,
    "train": train.WORKLOADS,
    "rounded": (*train.ROUNDED, *attention.ROUNDED),
    "seq2seq": train.SEQ2SEQ,
    "decode": decode.WORKLOADS,
}

Peer = Annotated[Path | None, option("the interpreter that has torch, ctranslate2", "PYTHON")]
Json = Annotated[bool, option("print one JSON object")]


def workloads(
    names: Annotated[
        tuple[str, ...],
        positional("WORKLOAD", f"{', '.join(FAMILIES)}, or one of their sizes; default: all"),
    ] = (),
    *,
    peer: Peer = None,
    json: Json = False,
    against: Annotated[Path | None, option("what --json printed earlier", "FILE")] = None,
) -> None:
    """Time workloads, beside PyTorch and CTranslate2 if given; the word may be left out."""
    keep_compiled()
    listed, then = choose(names), None if against is None else read_report(against)
    rows = []
    try:
        for number, workload in enumerate(listed, start=1):
            # a line, not a spinner, whose thread would disturb the measurement
            print(f"{number} of {len(listed)}: {workload.name}", file=sys.stderr)
            rows.append(measure(workload, peer, product(CPU_SIDE, workload.operands)))
    finally:
        # also after an error, so that the measurements so far are not lost
        if rows:
            content: dict[str, Any] = {"workloads": rows}
            tables = [table(rows)]
            if then is not None:
                moves = [*speed_changes(content, then)]
                content["against"] = {"date": then["date"], "moved": moves}
                tables.append(changes(moves, then))
            _print(content, tables, json=json)


def choose(names: Sequence[str]) -> tuple[Workload, ...]:
    """Return the workloads of these families or names; without names all workloads."""
    every = {workload.name: workload for family in FAMILIES.values() for workload in family}
    selected: dict[str, Workload] = {}
    for name in names or FAMILIES:
        if name not in every and name not in FAMILIES:
            known = ", ".join([*FAMILIES, *every])
            raise UserError(f"unknown workload {name!r}; choose from {known}")
        family = FAMILIES.get(name) or (every[name],)
        selected |= {workload.name: workload for workload in family}
    return tuple(selected.values())


def gpu(*, peer: Peer = None) -> None:
    """Time the workloads for a GPU, beside PyTorch if given; prints one JSON object."""
    keep_compiled()
    rows: list[dict[str, Any]] = []
    try:
        for row in of_a_gpu.measure_all(peer):
            rows.append(row)
    finally:
        # also where a peer lacks its engine: what was measured is not lost
        if rows:
            _print({"workloads": rows}, (), json=True)


def data(
    *,
    pairs: Annotated[int, count("the synthetic pairs; default: 450,000", most=10**9)] = 450_000,
    json: Json = False,
) -> None:
    """Prepare a synthetic corpus, and read it as a training does."""
    row = corpus.measure(pairs)
    _print({"batches": [row]}, [corpus.table(row)], json=json)


def _print(content: dict[str, Any], tables: Iterable[RenderableType], *, json: bool) -> None:
    """Print one JSON object, with the description of the machine, or tables."""
    if json:
        print(json_text({**machine(), **content}))
        return
    for drawn in tables:
        out().print(drawn)


def program(words: Sequence[str]) -> int:
    """Run a command, `workloads` if none is named, as `attnjax` does; returns the exit code."""
    commands = {call.__name__: call for call in (workloads, gpu, data)}
    if not words or words[0] not in (*commands, "--help", "-h", "--version"):
        words = ["workloads", *words]
    description = "How fast attnjax is, beside another engine."
    name = "python -m benchmarks"
    return main(words, Program(name=name, description=description, groups={"commands": commands}))


if __name__ == "__main__":
    sys.exit(program(sys.argv[1:]))
