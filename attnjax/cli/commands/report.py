"""`attnjax report`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnjax.cli.command import Trust, positional
from attnjax.cli.output import out, say

if TYPE_CHECKING:
    from attnjax.experiment.load import ExperimentFile


def report(
    runs: Annotated[
        Path, positional("RUNS", "an experiment's folder, or the one that --runs named")
    ],
    *,
    trust: Trust = False,
) -> None:
    """Make the table and report.html of finished runs again."""
    from attnjax.results.summary import experiments, reload

    for folder in experiments(runs):
        summarized(folder, reload(folder, trust=trust), None)


def summarized(folder: Path, loaded: "ExperimentFile", command: Sequence[str] | None) -> None:
    """Write summary.json into an experiment's folder, print the table, and write report.html.

    Args:
        folder: the experiment's folder.
        loaded: the experiment file.
        command: see `attnjax.results.summary.summarize`.
    """
    from attnjax.reporting.page import write
    from attnjax.reporting.table import table
    from attnjax.results.summary import summarize
    from attnjax.runs.run_folder import RESULT

    printed = False
    while True:
        results = set(folder.glob(f"*/seed-*/{RESULT}"))
        summary = summarize(folder, loaded, command)
        if not printed:  # whatever may happen to the page
            out().print(table(summary))
            printed = True
        page = write(folder, summary)
        # another process may have finished a run meanwhile, and written its summary before this one
        if results == set(folder.glob(f"*/seed-*/{RESULT}")):
            break
    say(f"report: {page}")
