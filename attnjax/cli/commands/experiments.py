"""`attnjax list`."""

from attnjax.cli.output import out
from attnjax.console import plain_table
from attnjax.runs.catalog import catalog


def experiments() -> None:
    """List the experiments that come with attnjax, with the minutes that their records took."""
    drawn = plain_table(["experiment", "question", "paper"], ["minutes"])
    for entry in catalog():
        minutes = "" if entry.minutes is None else f"{entry.minutes:.0f}"
        drawn.add_row(entry.name, entry.question, entry.paper, minutes)
    out().print(drawn)
