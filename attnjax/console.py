"""Lines on a console."""

from rich.console import Console


def print_line(console: Console, line: str) -> None:
    """Print a line as it is: however long, without markup, without colors."""
    console.print(line, highlight=False, soft_wrap=True, markup=False)
