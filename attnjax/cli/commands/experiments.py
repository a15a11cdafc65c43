"""`attnjax list`."""

from rich.table import Table

from attnjax.cli.output import out
from attnjax.runs.catalog import catalog


def experiments() -> None:
    """List the experiments that come with attnjax, with the minutes that their records took."""
    drawn = Table("experiment", "question", "paper", box=None, pad_edge=False)
    drawn.add_column("minutes", justify="right")
    for entry in catalog():
        minutes = "" if entry.minutes is None else f"{entry.minutes:.0f}"
        drawn.add_row(entry.name, entry.question, entry.paper, minutes)
    out().print(drawn)
