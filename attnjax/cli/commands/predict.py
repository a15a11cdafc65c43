"""`attnjax predict`."""

import codecs
import sys
from collections.abc import Sequence
from typing import Annotated

from attnjax.cli.command import option, whole_number
from attnjax.cli.output import keep_compiled
from attnjax.cli.trained import TrainedRuns
from attnjax.errors import UserError


def predict(
    chosen: TrainedRuns,
    *,
    extra: Annotated[
        int,
        option(
            "the greatest length of an answer, in words more than its line has; default: 50",
            "N",
            read=whole_number(10**6),
        ),
    ] = 50,
) -> None:
    """Answer the lines of standard input; a language model goes on with each."""
    keep_compiled()
    if sys.stdin is None:
        raise UserError("predict reads standard input, but standard input is closed")
    from attnjax.trained import evaluate as calls

    trained, lines = chosen.open(), _lines(sys.stdin.buffer.read())
    answers = calls.predict(
        trained,
        lines,
        beam=chosen.beam,
        max_symbols=chosen.max_symbols,
        extra=extra,
        origin="standard input",
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
