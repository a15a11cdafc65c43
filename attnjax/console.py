"""Lines and tables on a console."""

from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import category

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table


class PlainConsole(Console):
    """A console on which text is only shown, whoever wrote it.

    It may show text of untrusted files: control characters, which steer a terminal, are escaped,
    and brackets are no markup.
    """

    def __init__(self, **options: Any) -> None:
        """Set the options of `rich.console.Console`."""
        super().__init__(markup=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the segments of a text, a table, or anything else."""
        for segment in super().render(renderable, options):
            # rich's own moves of the cursor have `control`
            text = segment.text if segment.control else printable(segment.text)
            yield Segment(text, segment.style, segment.control)


def printable(text: str) -> str:
    """Return a text whose control characters, except line breaks and tabs, are JSON's escapes."""
    return "".join(map(_printable, text))


def _printable(letter: str) -> str:
    control = category(letter) in ("Cc", "Cs") and letter not in "\n\t"
    return f"\\u{ord(letter):04x}" if control else letter


def print_line(console: Console, line: str) -> None:
    """Print a line as it is: however long, without markup, without colors."""
    console.print(line, highlight=False, soft_wrap=True, markup=False)


def plain_table(
    words: Sequence[str], figures: Sequence[str] = (), title: str | None = None
) -> Table:
    """Return a table with columns of words, and columns of figures, aligned at the right.

    On a narrow screen a cell takes several lines, and nothing is left out.
    """
    drawn = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for column in words:
        drawn.add_column(column, overflow="fold")
    for column in figures:
        drawn.add_column(column, justify="right", overflow="fold")
    return drawn
