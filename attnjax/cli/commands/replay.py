"""`attnjax replay`."""

from pathlib import Path

from attnjax.cli.command import Command, Parser, path, trust, whole_number
from attnjax.cli.output import keep_compiled, say


def arguments(parser: Parser) -> None:
    """Add the arguments."""
    path(parser, "RUN", "a run's folder")
    parser.add_argument(
        "step", metavar="STEP", type=whole_number(10**9), help="the number of the update"
    )
    trust(parser)


def call(*, run: Path, step: int, trust: bool) -> None:
    """Compute a step again, and print where the first number that is not finite arises."""
    keep_compiled()
    from attnjax.runs.replay import replay

    first, found = replay(run, step, trust=trust)
    begins = f"from the checkpoint of step {first}" if first else "from the beginning"
    say(f"step {step}, computed again {begins}: {found}")


COMMAND = Command(
    name="replay",
    help="Compute a step again, and say where the first number that is not finite arises.",
    arguments=arguments,
    call=call,
)
