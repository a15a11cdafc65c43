"""An engine's program: its commands, of which the first may go without its name."""

from collections.abc import Sequence

from attnjax.cli.command import Program
from attnjax.cli.main import main


def run_program(program: Program, words: Sequence[str]) -> int:
    """Run a command as `attnjax` runs its own; returns the exit code.

    Args:
        program: the program. Its first command is meant if none is named.
        words: the arguments.
    """
    first = next(iter(program.commands))
    if words and words[0] not in (*program.commands, "--help", "-h", "--version"):
        words = [first, *words]
    return main(words, program)
