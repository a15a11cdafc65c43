"""`attnjax predict`."""

import codecs
import sys
from collections.abc import Iterator, Sequence
from itertools import count as count_from
from typing import Annotated, BinaryIO

from attnjax.errors import UserError
from attnjax.files import in_a_line
from attnjax.lab.cli.command import count
from attnjax.lab.cli.output import keep_compiled, say_answer, write_utf8
from attnjax.lab.cli.trained import TrainedRuns

AT_ONCE = 1 << 20
"""The most bytes that are read before their lines are answered."""


def predict(
    chosen: TrainedRuns,
    *,
    extra: Annotated[
        int,
        count(
            "the greatest length of an answer, in words more than its line has; default: 50",
            most=10**6,
        ),
    ] = 50,
    n_best: Annotated[
        int | None,
        count(
            "print the N best answers of a line, each with the line's number and a score: a "
            "log-probability over its length penalty, the probability of a label"
        ),
    ] = None,
) -> None:
    """Answer the lines of standard input as they come; a language model goes on with each.

    An answer is a line: a line break within it becomes a space.

    Raises:
        UserError: a line is too long, or the source or the target of the run's task is not text.
    """
    keep_compiled()
    if sys.stdin is None:
        raise UserError("predict reads standard input, but standard input is closed")
    write_utf8()
    trained = chosen.open()
    for first, lines in _lines(sys.stdin.buffer):
        answers = trained.n_best(
            lines,
            n_best or 1,
            beam=chosen.beam,
            max_symbols=chosen.max_symbols,
            extra=extra,
            origin="standard input",
            first=first,
        )
        for number, best in enumerate(answers, start=first):
            if n_best is None:
                say_answer(in_a_line(best[0].text) if best else "")
            for answer in best if n_best else ():
                say_answer(f"{number}\t{answer.score:.4f}\t{in_a_line(answer.text)}")
        sys.stdout.flush()


def _lines(stream: BinaryIO) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield lines as soon as they arrive, with the number of the first of them."""
    rest, first = b"", 1
    while content := stream.read1(AT_ONCE):  # pyright: ignore[reportAttributeAccessIssue]
        *lines, rest = (rest + content).split(b"\n")
        if lines:
            yield first, [*map(_text, lines, count_from(first))]
            first += len(lines)
    if rest:
        yield first, [_text(rest, first)]


def _text(line: bytes, number: int) -> str:
    """Decode a line of UTF-8, the first without a byte order mark."""
    try:
        written = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        return written.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UserError(
            f"line {number} of standard input is not UTF-8: it has the byte "
            f"0x{error.object[error.start]:02x} ({error.reason})"
        ) from error
