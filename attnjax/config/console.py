"""Lines, tables and bars on a console."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unicodedata import category

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

SECONDS_OF_SPEED = 120.0
"""The time left is estimated by so long: a batch of another shape is compiled first, on a GPU for
up to a minute, and a mean over all updates would not forget it."""

SECONDS_BETWEEN_BARS = 0.2
"""The shortest time between two looks of a bar that another process draws."""


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


class RemoteConsole(PlainConsole):
    """Standard error of a process whose lines and bars another process shows.

    Lines are written as they are; what a bar shows is told. If no bars are `drawn`, lines say how
    far a training is, as in a log.
    """

    def __init__(self, tell: Callable[[Any], None], *, drawn: bool) -> None:
        """Set how a bar is told: its description, total, completed and words; None: it ends."""
        super().__init__(stderr=True, color_system=None, force_terminal=drawn)
        self.tell = tell

    @contextmanager
    def status(self, status: RenderableType, **_: Any) -> Iterator[None]:  # type: ignore[override]
        """Tell a bar without steps for the time of a block."""
        words = {"loss": "", "valid": "", "speed": ""}
        self.tell({"bar": {"description": str(status), "total": None, "completed": 0, **words}})
        try:
            yield
        finally:
            self.tell({"bar": None})


def bars(console: Console) -> Progress:
    """Return bars of trainings, a row each, which a terminal shows; elsewhere nothing is."""
    if isinstance(console, RemoteConsole):
        return _RemoteBars(console)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[loss]}"),
        TextColumn("{task.fields[valid]}"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        speed_estimate_period=SECONDS_OF_SPEED,
    )


class _RemoteBars(Progress):
    """A bar that another process draws."""

    def __init__(self, console: RemoteConsole) -> None:
        super().__init__(console=console, disable=True, speed_estimate_period=SECONDS_OF_SPEED)
        self._tell, self._told = console.tell if console.is_terminal else _nothing, 0.0

    def update(self, task_id: TaskID, **fields: Any) -> None:  # type: ignore[override]
        super().update(task_id, **fields)
        if time.monotonic() - self._told >= SECONDS_BETWEEN_BARS:
            self._told, (task,) = time.monotonic(), self.tasks
            steps = {"total": task.total, "completed": task.completed}
            self._tell({"bar": {"description": task.description, **steps, **task.fields}})

    def stop(self) -> None:
        super().stop()
        self._tell({"bar": None})


def _nothing(_: Any) -> None:
    pass


def printable(text: str) -> str:
    """Return a text whose control characters, except line breaks and tabs, are JSON's escapes."""
    return "".join(map(_printable, text))


def _printable(letter: str) -> str:
    control = category(letter) in ("Cc", "Cs") and letter not in "\n\t"
    return f"\\u{ord(letter):04x}" if control else letter


def print_line(console: Console, line: str) -> None:
    """Print a line as it is: however long, without markup, without colors."""
    console.print(line, highlight=False, soft_wrap=True, markup=False)


FIGURE = re.compile(r"(?<!\S)[(\[+−-]?\d\S*")
"""A word that is a number: broken in two it would be read as two."""

FOLDED = 8
"""The least width of a column whose longer words are broken."""


class WholeFigures(Table):
    """A table whose cells are broken where it is wider than the screen, but never within a number.

    Where its numbers do not fit beside each other, each cell has a line, after its heading.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for column in self.columns:
            column.min_width = max(map(len, FIGURE.findall(_text(column))), default=1)
        # beside each column are a space of padding and the line of a box, which has one line more
        least = sum(max(column.min_width or 1, _folded(column)) + 2 for column in self.columns) + 1
        if least <= options.max_width or len(self.columns) == 1:
            yield from super().__rich_console__(console, options)
            return
        headings = [" ".join(str(column.header).split()) for column in self.columns]
        for row in zip(*(column.cells for column in self.columns), strict=True):
            for heading, cell in zip(headings, row, strict=True):
                yield Text(f"{heading}: {cell}" if heading else str(cell))
            yield Text("")

    def _calculate_column_widths(self, console: Console, options: ConsoleOptions) -> list[int]:
        """Return the widths, padding included; rich adds least widths and is too wide then."""
        widths = super()._calculate_column_widths(console, options)
        least = [max(column.min_width or 1, _folded(column)) + 2 for column in self.columns]
        while sum(widths) > options.max_width and any(map(int.__gt__, widths, least)):
            spare = [width - needed for width, needed in zip(widths, least, strict=True)]
            widths[spare.index(max(spare))] -= 1
        return widths


def _text(column: Column) -> str:
    return " ".join(map(str, column.cells))


def _folded(column: Column) -> int:
    """Return the least width of a column's words."""
    words = f"{column.header} {_text(column)}".split()
    return min(FOLDED, max(map(len, words), default=1))


def plain_table(
    words: Sequence[str], figures: Sequence[str] = (), title: str | None = None
) -> Table:
    """Return a table with columns of words, and columns of figures, aligned at the right.

    On a narrow screen a cell takes several lines, and nothing is left out, see `WholeFigures`.
    """
    drawn = WholeFigures(box=None, pad_edge=False, title=title, title_justify="left")
    for column in words:
        drawn.add_column(column, overflow="fold")
    for column in figures:
        drawn.add_column(column, justify="right", overflow="fold")
    return drawn
