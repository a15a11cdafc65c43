"""A command of the command line, and what its arguments are made of."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from attnjax.errors import UserError


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise a UserError."""
        raise UserError(f"{message}; see {self.prog} --help")


@dataclass(frozen=True, kw_only=True)
class Overridden:
    """The help of a command that takes overrides.

    Attributes:
        of: the positional arguments in the usage.
        epilog: the explanation of the overrides.
    """

    of: str
    epilog: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command: a word of the command line, its arguments, and the function that it calls.

    Attributes:
        name: the word.
        help: a sentence.
        arguments: adds the arguments to the command's parser.
        call: is called with a value for each argument, by its name; its result is the exit code,
            None for 0.
        overridden: the help for overrides, which `call` gets as `overrides`; None: it takes none.
    """

    name: str
    help: str
    arguments: Callable[[Parser], None]
    call: Callable[..., int | None]
    overridden: Overridden | None = None


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program of several commands.

    Attributes:
        name: what is typed to start it.
        description: a sentence.
        commands: every command by its name, in the order of `--help`.
    """

    name: str
    description: str
    commands: Mapping[str, Command]


def no_arguments(_: Parser) -> None:
    """Add no arguments."""


def whole_number(most: int, *, least: int = 1) -> Callable[[str], int]:
    """A function that reads an option's value: a whole number from `least` to `most`."""

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(
                f"wanted a whole number from {least} to {most:,}; got {text[:40]!r}"
            )
        return number

    return read


def path(parser: Parser, name: str, help: str) -> None:
    """Add a positional argument that is a path."""
    parser.add_argument(name.lower(), metavar=name, type=Path, help=help)


EXPERIMENT = Overridden(
    of="EXPERIMENT",
    epilog="""\
overrides change the experiment and each of its variants, in any order:
  model.encoder_layer.self_attention.head.score:dot    choose a part
  --model.encoder_layer.self_attention.heads 4              give a value
`attnjax show EXPERIMENT` lists every path, with the values there now.""",
)
"""The help of commands whose overrides change an experiment."""


def experiment(parser: Parser) -> None:
    """Add the experiment, and its setting."""
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", help="the name of a shipped experiment, or a file"
    )
    parser.add_argument(
        "--setting",
        metavar="S",
        help="a setting of the experiment, such as paper: the paper's own scale",
    )


def chosen_variants(parser: Parser) -> None:
    """Add the variants that are run, and the number of their runs."""
    parser.add_argument(
        "--variant", action="append", default=[], help="a variant to run; may be repeated"
    )
    parser.add_argument(
        "--seeds",
        type=whole_number(10_000),
        metavar="N",
        help="the number of runs of each variant; default: as the file says",
    )


def local_folder(text: str) -> Path:
    """Read an option's value: a folder of this machine, not one of a bucket."""
    if "://" in text:
        raise argparse.ArgumentTypeError(
            f"wanted a folder that this machine sees, such as a bucket's mount; got {text!r}"
        )
    return Path(text)


def results_folder(parser: Parser) -> None:
    """Add the folder that results are written to."""
    parser.add_argument(
        "--runs",
        type=local_folder,
        default=Path("runs"),
        metavar="DIR",
        help="the results' folder; default: runs",
    )


def trust(parser: Parser) -> None:
    """Add the consent to execute another user's experiment file."""
    parser.add_argument(
        "--trust", action="store_true", help="execute an experiment.py of somebody else"
    )


TRAINED = Overridden(
    of="RUN [RUN ...]",
    epilog="""\
overrides change the search for answers, or take heads out:
  search:sample --search.temperature 0.7    sample the words, at this temperature
  --model.encoder_layer.self_attention.heads_out 0,3    without heads 0 and 3 of every layer
several runs act as one: each word by the mean of their probabilities.""",
)
"""The help of commands whose overrides change how a trained run answers."""


def trained_runs(parser: Parser) -> None:
    """Add trained runs, and how they answer."""
    trust(parser)
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", type=Path, help="a run's folder; several act as one"
    )
    parser.add_argument(
        "--max-symbols",
        type=whole_number(10**9),
        default=1_000,
        metavar="N",
        help="the most words or subwords of a line; default: 1000",
    )
    parser.add_argument(
        "--beam",
        type=whole_number(10_000),
        metavar="N",
        help="the number of hypotheses; 1 is greedy; default: the run's own search",
    )
