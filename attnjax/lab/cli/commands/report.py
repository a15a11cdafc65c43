"""`attnjax report`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnjax.errors import warn
from attnjax.lab.cli.command import ExperimentFolder, Trust, count, option
from attnjax.lab.cli.output import keep_compiled, out, say
from attnjax.lab.runs.catalog import records_folder, with_shipped

if TYPE_CHECKING:
    from attnjax.experiment.load import ExperimentFile
    from attnjax.lab.results.record import Record
    from attnjax.lab.results.summary import Summary

Verbose = Annotated[bool, option("print the value of each seed and the source of each claim, too")]

Records = Annotated[
    Path | None,
    option(
        "let records of equal settings, seeds and data stand in for runs: those in FOLDER, by "
        "default records, and those of attnjax",
        "FOLDER",
        type=records_folder,
        nargs="?",
        const="",
    ),
]


def report(
    runs: ExperimentFolder,
    *,
    sentences: Annotated[
        int | None,
        count(
            "how many test sentences of each run the page shows the attention of; default: 4",
            most=1_000,
        ),
    ] = None,
    records: Records = None,
    verbose: Verbose = False,
    trust: Trust = False,
) -> None:
    """Make the table and report.html of finished runs again."""
    from attnjax.lab.results.folder import experiments, reload
    from attnjax.lab.runs.result import finished_runs

    recorded = read_given(records)
    for folder in experiments(runs):
        loaded = reload(folder, trust=trust)
        if sentences is not None:
            keep_compiled()
            _keep(finished_runs(folder), sentences, trust=trust)
        summarized(folder, loaded, None, sentences, verbose=verbose, records=recorded)


def _keep(runs: Sequence[Path], sentences: int, *, trust: bool) -> None:
    """Let each run have the attention of so many sentences, unless nothing can be written there.

    Runs of somebody else may be read alone: then the table and the page are of what they have.
    """
    from attnjax.lab.trained.attention import keep_attention

    try:
        for run in runs:
            keep_attention(run, sentences, trust=trust)
    except OSError as error:
        warn(f"no more sentences are kept of the runs: {error.filename}: {error.strerror}")


def read_given(records: Path | None) -> "tuple[Record, ...]":
    """Return the records that `--records` gives, and the shipped ones; (): it was not given."""
    from attnjax.lab.results.lines import read_records

    return () if records is None else tuple(read_records(*with_shipped(records)))


def summarized(
    folder: Path,
    loaded: "ExperimentFile",
    command: Sequence[str] | None,
    sentences: int | None = None,
    *,
    verbose: bool = False,
    records: "Sequence[Record]" = (),
) -> "Summary":
    """Write summary.json into an experiment's folder, print the table, and write report.html.

    Returns the summary that was printed. The folder has finished runs, or `records` stand in.
    """
    from attnjax.lab.reporting.page import write
    from attnjax.lab.reporting.table import table
    from attnjax.lab.results.folder import summarize
    from attnjax.lab.runs.result import finished_runs

    def now() -> "tuple[list[Path], Summary]":
        return finished_runs(folder), summarize(folder, loaded, command, records=records)

    results, printed = now()
    out().print(table(printed, verbose=verbose))  # whatever may happen to the page
    try:
        page = write(folder, printed, sentences)
        # again if another process has finished a run meanwhile, and has written its summary before
        while results != finished_runs(folder):
            results, summary = now()
            page = write(folder, summary, sentences)
        say(f"report: {page}")
    except OSError as error:
        warn(f"there is no report: {error.filename} cannot be written: {error.strerror}")
    return printed
