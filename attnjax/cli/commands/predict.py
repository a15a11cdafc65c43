"""`attnjax predict`."""

import codecs
import sys
from collections.abc import Sequence
from pathlib import Path

from attnjax.cli.command import TRAINED, Command, Parser, trained_runs, whole_number
from attnjax.cli.output import keep_compiled
from attnjax.cli.trained import open_runs
from attnjax.config.override import Override
from attnjax.errors import UserError


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--extra",
        type=whole_number(10**6),
        default=50,
        metavar="N",
        help="the greatest length of an answer, in words more than its line has; default: 50",
    )
    trained_runs(parser)


def call(
    *,
    runs: Sequence[Path],
    beam: int | None,
    max_symbols: int,
    extra: int,
    trust: bool,
    overrides: Sequence[Override],
) -> None:
    """Answer each line of standard input by a line."""
    keep_compiled()
    if sys.stdin is None:
        raise UserError("predict reads standard input, but standard input is closed")
    from attnjax.runs import evaluate as calls

    trained = open_runs(runs, trust, overrides)
    lines = _lines(sys.stdin.buffer.read())
    answers = calls.predict(
        trained, lines, beam=beam, max_symbols=max_symbols, extra=extra, origin="standard input"
    )
    for answer in answers:
        print(answer)


def _lines(content: bytes) -> Sequence[str]:
    """The lines of UTF-8 text, without a byte order mark."""
    lines = []
    content = content.removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), start=1):
        try:
            lines.append(line.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            raise UserError(
                f"line {number} of standard input is not UTF-8: it has the byte "
                f"0x{line[error.start]:02x} ({error.reason})"
            ) from error
    return lines if content else []


COMMAND = Command(
    name="predict",
    help="Answer the lines of standard input; a language model goes on with each.",
    arguments=arguments,
    call=call,
    overridden=TRAINED,
)
