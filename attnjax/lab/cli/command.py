'''A command is a function: its docstring is the help, its annotated parameters are the arguments.

    def report(runs: Annotated[Path, positional("RUNS", "a folder")], *, trust: Trust = False):
        """Make the table and report.html of finished runs again."""

A parameter of a dataclass stands for the fields of the dataclass.
'''

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn, get_args, get_origin, get_type_hints

from attnjax.config.docstrings import docstring
from attnjax.errors import UserError


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise a UserError."""
        raise UserError(f"{message}; see {self.prog} --help")


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program: its commands' functions by their words, in the groups that `--help` shows."""

    name: str
    description: str
    groups: Mapping[str, Mapping[str, Callable[..., int | None]]]

    @property
    def commands(self) -> dict[str, Callable[..., int | None]]:
        """The commands of all groups."""
        return {word: call for group in self.groups.values() for word, call in group.items()}


class Argument(NamedTuple):
    """How an argument is typed, in the words of `argparse`: `option`, `count` or `positional`."""

    positional: bool
    words: dict[str, Any]


def positional(shown: str, help: str, **words: Any) -> Argument:
    """Declare an argument without a name; the usage has the word `shown` for its value."""
    return Argument(True, {"metavar": shown, "help": help, **words})


def option(help: str, shown: str | None = None, **words: Any) -> Argument:
    """Declare an argument typed as `--name value`, or as `--name` if it is true or false."""
    return Argument(False, {"metavar": shown, "help": help, **words})


def count(
    help: str, shown: str = "N", *, most: int = 10_000, least: int = 1, bare: int | None = None
) -> Argument:
    """Declare an option, a whole number from `least` to `most`; without a value it is `bare`."""
    words = {} if bare is None else {"nargs": "?", "const": bare}
    return option(help, shown, type=whole_number(most, least=least), **words)


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """The help of a command that takes overrides: its positional arguments, an explanation."""

    of: str
    epilog: str


def sentence(call: Callable[..., Any]) -> str:
    """Return the help of a command: the first line of its docstring."""
    return docstring(call).partition("\n")[0]


def overrides(call: Callable[..., Any]) -> Overrides | None:
    """Return the help of a command's overrides; None if it takes none."""
    return next((kind for _, _, kind, _ in _arguments(call) if isinstance(kind, Overrides)), None)


def add_arguments(parser: Parser, call: Callable[..., Any]) -> None:
    """Add a command's arguments to its parser."""
    for name, hint, argument, default in _arguments(call):
        if isinstance(argument, Argument):
            typed = name if argument.positional else f"--{name.replace('_', '-')}"
            parser.add_argument(typed, **_words(hint, argument, default))


def run(call: Callable[..., int | None], given: Mapping[str, Any]) -> int:
    """Call a command with a value for each argument, by name, and return the exit code."""
    values = {}
    for name, hint in _hints(call).items():
        if is_dataclass(hint) and isinstance(hint, type):
            values[name] = hint(**{part.name: given[part.name] for part in fields(hint)})
        elif name in given:
            values[name] = given[name]
    return call(**values) or 0


def _arguments(call: Callable[..., Any]) -> Iterator[tuple[str, Any, Argument | Overrides, Any]]:
    """Yield name, type, annotation and default of each argument; MISSING if it has no default."""
    defaults = signature(call).parameters
    for name, hint in _hints(call).items():
        if is_dataclass(hint):
            inner = _hints(hint)
            for part in fields(hint):
                yield part.name, *get_args(inner[part.name])[:2], part.default
        elif get_origin(hint) is Annotated:
            default = defaults[name].default
            yield name, *get_args(hint)[:2], MISSING if default is Parameter.empty else default


def _hints(call: Any) -> dict[str, Any]:
    """Return the annotations of a function or dataclass, with their metadata."""
    return get_type_hints(call, include_extras=True)


def _words(hint: Any, argument: Argument, default: Any) -> dict[str, Any]:
    """Convert an argument to the keywords of `argparse`."""
    kind, *_ = get_args(hint) or [hint]
    many, required = get_origin(hint) is tuple, default is MISSING
    if kind is bool:
        return {"action": "store_true", "help": argument.words["help"], "default": default}
    words = {"type": kind, "default": None if required else default, **argument.words}
    if argument.positional:
        nargs = ("+" if required else "*") if many else (None if required else "?")
        return {"nargs": nargs, **words}
    return {"action": _Append, **words} if many else {"required": required, **words}


class _Append(argparse.Action):
    """Add the value of an option that may be repeated to those before it; each counts once."""

    def __call__(self, _: Any, namespace: Any, values: Any, *__: Any) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, before if values in before else (*before, values))


def whole_number(most: int, *, least: int = 1) -> Callable[[str], int]:
    """Return a function that parses a whole number from `least` to `most`."""

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(
                f"wanted a whole number from {least} to {most:,}; got {text[:40]!r}"
            )
        return number

    return read


def local_folder(text: str) -> Path:
    """Parse an option's value as a folder of this machine, not one of a bucket."""
    if "://" in text:
        raise argparse.ArgumentTypeError(
            f"wanted a folder that this machine sees, such as a bucket's mount; got {text!r}"
        )
    return Path(text)


RunsFolder = Annotated[Path, option("the results' folder; default: runs", "DIR", type=local_folder)]
ExperimentFolder = Annotated[
    Path, positional("RUNS", "an experiment's folder, or the one that --runs named")
]
RunFolder = Annotated[Path, positional("RUN", "a run's folder")]
Trust = Annotated[bool, option("execute an experiment.py of somebody else")]
