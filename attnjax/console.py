"""Lines and tables on a console."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_line(console: Console, line: str) -> None:
    """Print a line as it is: however long, without markup, without colors."""
    console.print(line, highlight=False, soft_wrap=True, markup=False)


def plain_table(
    words: Sequence[str], figures: Sequence[str] = (), title: str | None = None
) -> Table:
    """A table with columns of words, and columns of figures, aligned at the right.

    On a narrow screen a cell takes several lines, and nothing of it is left out.
    """
    drawn = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for column in words:
        drawn.add_column(column, overflow="fold")
    for column in figures:
        drawn.add_column(column, justify="right", overflow="fold")
    return drawn
