"""`attnjax results`."""

from pathlib import Path
from typing import Annotated

from attnjax.config.console import plain_table
from attnjax.lab.cli.command import positional
from attnjax.lab.cli.output import out, say
from attnjax.lab.runs.catalog import records_folder


def results(
    records: Annotated[
        Path | None,
        positional("RECORDS", "the folder of records; default: records, or those of attnjax"),
    ] = None,
) -> None:
    """Judge the claims of all recorded experiments, and count the verdicts."""
    from attnjax.lab.reporting.recorded import of_shipped
    from attnjax.lab.reporting.tally import tally, verdicts
    from attnjax.lab.results.lines import read_records

    experiments = of_shipped(read_records(records or records_folder()))
    drawn = plain_table(["experiment", "claim", "verdict"])
    for row in verdicts(experiments):
        drawn.add_row(*row)
    out().print(drawn)
    say(tally(experiments))
