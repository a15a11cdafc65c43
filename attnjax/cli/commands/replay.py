"""`attnjax replay`."""

from typing import Annotated

from attnjax.cli.command import RunFolder, Trust, positional, whole_number
from attnjax.cli.output import keep_compiled, say


def replay(
    run: RunFolder,
    step: Annotated[int, positional("STEP", "the number of the update", type=whole_number(10**9))],
    *,
    trust: Trust = False,
) -> None:
    """Compute a step again, and say where the first number that is not finite arises."""
    keep_compiled()
    from attnjax.trained.replay import replay

    first, place = replay(run, step, trust=trust)
    begins = f"from the checkpoint of step {first}" if first else "from the beginning"
    say(f"step {step}, computed again {begins}: {place}")
