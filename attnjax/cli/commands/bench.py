"""`attnjax bench`."""

import json as json_format
import sys
from collections.abc import Sequence
from pathlib import Path

from attnjax.cli.command import Command, Parser
from attnjax.cli.output import keep_compiled, out
from attnjax.errors import UserError


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "workloads",
        metavar="WORKLOAD",
        nargs="*",
        help="attention, train, seq2seq, decode, or one of their sizes; default: all; or scaling: "
        "a step on 1 to 8 virtual devices",
    )
    parser.add_argument(
        "--peer", type=Path, metavar="PYTHON", help="the interpreter that has torch, ctranslate2"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--against", type=Path, metavar="F", help="what --json printed earlier")


def call(*, workloads: Sequence[str], peer: Path | None, json: bool, against: Path | None) -> None:
    """Time workloads, in turns with another engine if `peer` is given."""
    keep_compiled()
    if "scaling" in workloads:
        if len(workloads) > 1 or peer or against:
            raise UserError("scaling is timed alone, without --peer and --against")
        return _scaling(json)
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


def _scaling(json: bool) -> None:
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


COMMAND = Command(
    name="bench",
    help="Time workloads, beside PyTorch and CTranslate2 if given; takes minutes.",
    arguments=arguments,
    call=call,
)
