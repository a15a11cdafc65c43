"""`attnjax bench`."""

import json as json_format
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from attnjax.cli.command import Command, Parser
from attnjax.cli.output import keep_compiled, out
from attnjax.errors import UserError


def _seeds(json: bool) -> None:
    """Print how much faster seeds train together than alone."""
    from attnjax.benchmark.machine import machine
    from attnjax.benchmark.seeds import content, seed_times, table

    found = seed_times(say=lambda name: print(name, file=sys.stderr))
    if json:
        print(json_format.dumps({**machine(), "seeds": content(found)}))
    else:
        out().print(table(found))


def _scaling(json: bool) -> None:
    """Print a training step on 1 to 8 virtual devices, and its share in collectives."""
    from attnjax.benchmark import scaling
    from attnjax.benchmark.machine import machine

    rows = []
    for count in scaling.DEVICES:
        print(f"{count} of {scaling.DEVICES[-1]} devices", file=sys.stderr)
        rows.append(scaling.measure(count))
    if json:
        print(json_format.dumps({**machine(), "scaling": rows}))
        return
    out().print(scaling.table(rows))


TABLES: dict[str, Callable[[bool], None]] = {"scaling": _scaling, "seeds": _seeds}
"""Tables of their own by the word that asks for them; each is called with --json."""


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "workloads",
        metavar="WORKLOAD",
        nargs="*",
        help="attention, windows, linear, train, seq2seq, decode, or one of their sizes; default: "
        f"all; or one of the tables {', '.join(TABLES)}",
    )
    parser.add_argument(
        "--peer", type=Path, metavar="PYTHON", help="the interpreter that has torch, ctranslate2"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--against", type=Path, metavar="F", help="what --json printed earlier")


def call(*, workloads: Sequence[str], peer: Path | None, json: bool, against: Path | None) -> None:
    """Time workloads, in turns with another engine if `peer` is given; or print a table."""
    keep_compiled()
    if tables := TABLES.keys() & set(workloads):
        if len(workloads) > 1 or peer or against:
            raise UserError(f"bench {min(tables)} is a table of its own: give nothing else")
        TABLES[workloads[0]](json)
        return
    from attnjax.benchmark.limit import CPU_SIDE, product
    from attnjax.benchmark.machine import machine
    from attnjax.benchmark.report import changes, kept, table
    from attnjax.benchmark.turns import measure, moved
    from attnjax.benchmark.workloads import chosen

    listed, then = chosen(workloads), None if against is None else kept(against)
    rows, limit = [], product(CPU_SIDE)

    def tell() -> None:
        content = {**machine(), "workloads": rows}
        found = [] if then is None else [*moved(content, then)]
        if then is not None:
            content["against"] = {"date": then["date"], "moved": found}
        if json:
            print(json_format.dumps(content))
            return
        out().print(table(rows))
        if then is not None:
            out().print(changes(found, then))

    try:
        for number, workload in enumerate(listed, start=1):
            # a line, not a spinner, whose thread would disturb the measurement
            print(f"{number} of {len(listed)}: {workload.name}", file=sys.stderr)
            rows.append(measure(workload, peer, limit))
    finally:
        # also after an error, so that the measurements so far are not lost
        if rows:
            tell()


COMMAND = Command(
    name="bench",
    help="Time workloads, beside PyTorch and CTranslate2 if given; takes minutes.",
    arguments=arguments,
    call=call,
)
