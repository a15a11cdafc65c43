"""A program of `launch`: the options that its commands share, and its start."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from attnjax.cli.command import Program, option, positional
from attnjax.cli.main import main

Folder = Annotated[Path, positional("FOLDER", "an experiment's folder, such as runs/positions")]
Site = Annotated[Path | None, option("what a run asks for; launch/sites has files to copy", "FILE")]
DryRun = Annotated[bool, option("print what would be submitted, and submit nothing")]
Yes = Annotated[bool, option("do not ask")]


def run_program(
    module: str, description: str, words: Sequence[str], *commands: Callable[..., int | None]
) -> int:
    """Run a command, the first one if none is named, as `attnjax` does; returns the exit code."""
    known = {call.__name__: call for call in commands}
    if words and words[0] not in (*known, "--help", "-h", "--version"):
        words = [next(iter(known)), *words]
    return main(words, Program(name=f"python -m {module}", description=description, commands=known))
