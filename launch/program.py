"""A program of `launch`: the options that its commands share, its question, and its start."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from attnjax.cli.command import Program, option, positional
from attnjax.cli.main import main
from attnjax.errors import UserError

Folder = Annotated[Path, positional("FOLDER", "an experiment's folder, such as runs/positions")]
SiteFile = Annotated[
    Path | None, option("what a run asks for; launch/sites has files to copy", "FILE")
]
DryRun = Annotated[bool, option("print what would be submitted, and submit nothing")]
Yes = Annotated[bool, option("do not ask")]


def consent(question: str, *, yes: bool) -> None:
    """Ask before something is started or ended."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UserError(f"{question} cannot be asked without a terminal; repeat with --yes")
    if input(f"{question} [y/N] ").strip().lower() not in ("y", "yes"):
        raise UserError("nothing was done")


def run_program(
    module: str, description: str, words: Sequence[str], *commands: Callable[..., int | None]
) -> int:
    """Run a command, the first one if none is named, as `attnjax` does; returns the exit code."""
    known = {call.__name__: call for call in commands}
    if words and words[0] not in (*known, "--help", "-h", "--version"):
        words = [next(iter(known)), *words]
    program = Program(
        name=f"python -m {module}", description=description, groups={"commands": known}
    )
    return main(words, program)
