"""A program of `launch`: its commands, and the options that commands share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnjax.cli.command import (
    EXPERIMENT,
    Command,
    Parser,
    Program,
    chosen_variants,
    experiment,
    results_folder,
)
from attnjax.cli.main import main

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "folder": {
        "metavar": "FOLDER",
        "type": Path,
        "help": "an experiment's folder, such as runs/positions",
    },
    "--site": {
        "metavar": "FILE",
        "type": Path,
        "help": "what a run asks for; launch/sites has files to copy",
    },
    "--no-rehearsal": {
        "action": "store_true",
        "help": "do not compile the training step for the TPU slice first",
    },
    "--dry-run": {
        "action": "store_true",
        "help": "print what would be submitted, and submit nothing",
    },
    "--yes": {"action": "store_true", "help": "do not ask"},
}
"""Each option of a command, as `add_argument` takes it."""


def command(call: Callable[..., int | None], *options: str, launches: bool = False) -> Command:
    """A command that has the name and the first line of the function that it calls.

    Its options are out of `OPTIONS`; if it launches, it takes an experiment as `attnjax run` does.
    """

    def arguments(parser: Parser) -> None:
        if launches:
            experiment(parser)
            chosen_variants(parser)
            results_folder(parser)
        for name in options:
            parser.add_argument(name, **OPTIONS[name])

    return Command(
        name=call.__name__,
        help=(call.__doc__ or "").partition("\n")[0],
        arguments=arguments,
        call=call,
        overridden=EXPERIMENT if launches else None,
    )


def run_program(
    name: str, description: str, commands: Sequence[Command], words: Sequence[str]
) -> int:
    """Run a command, the first one if none is named, as `attnjax` does; returns the exit code."""
    names = [each.name for each in commands]
    if words and words[0] not in (*names, "--help", "-h", "--version"):
        words = [names[0], *words]
    known = dict(zip(names, commands, strict=True))
    return main(words, Program(name=name, description=description, commands=known))
