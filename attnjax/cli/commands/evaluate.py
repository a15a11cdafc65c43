"""`attnjax evaluate`."""

import json as json_format
from collections.abc import Sequence
from pathlib import Path

from attnjax.cli.command import TRAINED, Command, Parser, trained_runs
from attnjax.cli.output import keep_compiled, say
from attnjax.cli.trained import open_runs
from attnjax.config.override import Override
from attnjax.errors import UserError


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument("--split", metavar="S", help="train, valid or test; default: test")
    parser.add_argument(
        "--source", type=Path, metavar="F", help="a file of sources, instead of a split"
    )
    parser.add_argument(
        "--reference", type=Path, metavar="F", help="a file of references, one line for each source"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    trained_runs(parser)


def call(
    *,
    runs: Sequence[Path],
    split: str | None,
    source: Path | None,
    reference: Path | None,
    beam: int | None,
    max_symbols: int,
    trust: bool,
    json: bool,
    overrides: Sequence[Override],
) -> None:
    """Score trained runs, as one, on a split of their task, or on files."""
    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together")
    if source is not None and split is not None:
        raise UserError("--split and --source exclude each other")
    keep_compiled()
    from attnjax.reporting.number import number
    from attnjax.runs import evaluate as calls

    trained = open_runs(runs, trust, overrides)
    if source is not None and reference is not None:
        found = calls.evaluate_files(trained, source, reference, beam=beam, max_symbols=max_symbols)
    else:
        found = calls.evaluate(trained, split="test" if split is None else split, beam=beam)
    content = {"run": " ".join(map(str, runs)), "on": found.on, "sentences": found.sentences}
    content |= {**found.metrics, **found.details}
    if json:
        print(json_format.dumps(content, ensure_ascii=False))
        return
    for name, value in content.items():
        say(f"{name}: {number(value) if isinstance(value, float) else value}")


COMMAND = Command(
    name="evaluate",
    help="Score trained runs.",
    arguments=arguments,
    call=call,
    overridden=TRAINED,
)
