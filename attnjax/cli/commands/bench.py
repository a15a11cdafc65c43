"""`attnjax bench`."""

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from rich.console import RenderableType

from attnjax.cli.command import option, positional
from attnjax.cli.output import keep_compiled, out
from attnjax.config.serialize import json_text
from attnjax.errors import UserError

TABLES = ("data", "scaling", "seeds")
"""Modules of `attnjax.benchmark` that have tables of their own."""


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
    if words := {*TABLES} & {*workloads}:
        if len(workloads) > 1 or peer or against:
            raise UserError(f"bench {min(words)} is a table of its own: give nothing else")
        module = import_module(f"attnjax.benchmark.{min(words)}")
        content = module.measure()
        _print(content, module.tables(content), json=json)
        return
    from attnjax.benchmark.report import changes, kept, table
    from attnjax.benchmark.turns import measure, moved
    from attnjax.benchmark.workload import CPU_SIDE, product
    from attnjax.benchmark.workloads import chosen

    listed, then = chosen(workloads), None if against is None else kept(against)
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
                moves = [*moved(content, then)]
                content["against"] = {"date": then["date"], "moved": moves}
                tables.append(changes(moves, then))
            _print(content, tables, json=json)


def _print(content: dict[str, Any], tables: Iterable[RenderableType], *, json: bool) -> None:
    """Print one JSON object, with what the machine is, or tables."""
    from attnjax.benchmark.report import machine

    if json:
        print(json_text({**machine(), **content}))
        return
    for table in tables:
        out().print(table)
