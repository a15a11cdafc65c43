"""`attnjax bench`."""

import json as json_format
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

from attnjax.cli.command import option, positional
from attnjax.cli.output import keep_compiled, out
from attnjax.errors import UserError

TABLES = ("data", "scaling", "seeds")
"""Modules of `attnjax.benchmark` that have tables of their own."""


def _bench_table(name: str, json: bool) -> None:
    from attnjax.benchmark.report import machine

    module = import_module(f"attnjax.benchmark.{name}")
    content = module.measure()
    if json:
        print(json_format.dumps({**machine(), **content}))
        return
    for table in module.tables(content):
        out().print(table)


def bench(
    workloads: Annotated[
        tuple[str, ...],
        positional(
            "WORKLOAD",
            "attention, windows, linear, train, rounded, seq2seq, laptop, decode, or one of their "
            f"sizes; default: all; or one of the tables {', '.join(TABLES)}",
        ),
    ] = (),
    *,
    peer: Annotated[
        Path | None, option("the interpreter that has torch, ctranslate2", "PYTHON")
    ] = None,
    json: Annotated[bool, option("print one JSON object")] = False,
    against: Annotated[Path | None, option("what --json printed earlier", "F")] = None,
) -> None:
    """Time workloads, beside PyTorch and CTranslate2 if given; takes minutes."""
    keep_compiled()
    if tables := {*TABLES} & {*workloads}:
        if len(workloads) > 1 or peer or against:
            raise UserError(f"bench {min(tables)} is a table of its own: give nothing else")
        _bench_table(min(tables), json)
        return
    from attnjax.benchmark.report import changes, kept, machine, table
    from attnjax.benchmark.turns import measure, moved
    from attnjax.benchmark.workload import CPU_SIDE, product
    from attnjax.benchmark.workloads import chosen

    listed, then = chosen(workloads), None if against is None else kept(against)
    rows = []

    def tell() -> None:
        content = {**machine(), "workloads": rows}
        moves = [] if then is None else [*moved(content, then)]
        if then is not None:
            content["against"] = {"date": then["date"], "moved": moves}
        if json:
            print(json_format.dumps(content))
            return
        out().print(table(rows))
        if then is not None:
            out().print(changes(moves, then))

    try:
        for number, workload in enumerate(listed, start=1):
            # a line, not a spinner, whose thread would disturb the measurement
            print(f"{number} of {len(listed)}: {workload.name}", file=sys.stderr)
            rows.append(measure(workload, peer, product(CPU_SIDE, workload.operands)))
    finally:
        # also after an error, so that the measurements so far are not lost
        if rows:
            tell()
