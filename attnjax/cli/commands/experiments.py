"""`attnjax list`."""

from rich.table import Table

from attnjax.cli.output import out
from attnjax.runs.catalog import catalog


def experiments() -> None:
    """List the experiments that come with attnjax."""
    drawn = Table("experiment", "question", "paper", box=None, pad_edge=False)
    for entry in catalog():
        drawn.add_row(entry.name, entry.question, entry.paper)
    out().print(drawn)
