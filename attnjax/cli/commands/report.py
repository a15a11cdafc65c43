"""`attnjax report`."""

from pathlib import Path

from attnjax.cli.command import Command, Parser, path, trust


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    path(parser, "RUNS", "an experiment's folder, or the one that --runs named")
    trust(parser)


def call(*, runs: Path, trust: bool) -> None:
    """Summarize finished runs again."""
    from attnjax.cli.summarized import summarized
    from attnjax.runs.summary import experiments, reload

    for folder in experiments(runs):
        summarized(folder, reload(folder, trust=trust), None)


COMMAND = Command(
    name="report",
    help="Make the table and report.html of finished runs again.",
    arguments=arguments,
    call=call,
)
