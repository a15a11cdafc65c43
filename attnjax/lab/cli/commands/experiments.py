"""`attnjax list`."""

from attnjax.config.console import plain_table
from attnjax.lab.cli.output import out
from attnjax.lab.runs.catalog import catalog


def experiments() -> None:
    """List the experiments that come with attnjax, with the time of one rerun by their records."""
    drawn = plain_table(["experiment", "question", "paper", "one rerun"])
    for entry in catalog():
        drawn.add_row(entry.name, entry.question, entry.paper, entry.rerun)
    out().print(drawn)
