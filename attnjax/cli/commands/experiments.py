"""`attnjax list`."""

from rich.table import Table

from attnjax.cli.catalog import catalog
from attnjax.cli.command import Command, no_arguments
from attnjax.cli.output import out


def call() -> None:
    """Print the shipped experiments."""
    drawn = Table("experiment", "question", "paper", box=None, pad_edge=False)
    for entry in catalog():
        drawn.add_row(entry.name, entry.question, entry.paper)
    out().print(drawn)


COMMAND = Command(
    name="list",
    help="The experiments that come with attnjax.",
    arguments=no_arguments,
    call=call,
)
