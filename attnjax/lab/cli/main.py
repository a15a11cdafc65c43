"""The command line: arguments are parsed, and a command is called.

JAX is imported by what a command calls, so that `attnjax list` and `--help` are quick.
"""

import argparse
import errno
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from attnjax.errors import Interrupted, UserError, exhausted, first_line, message, one_line, unknown
from attnjax.lab.cli.command import Parser, Program, add_arguments, overrides, run, sentence
from attnjax.lab.cli.commands import GROUPS
from attnjax.lab.cli.output import open_streams
from attnjax.lab.cli.requeue import REQUEUE
from attnjax.lab.runs.catalog import names
from attnjax.lab.runs.versions import installed

NO_MEMORY = (
    "there is not enough memory; compute batches in smaller parts (--training.device_tokens), "
    "take fewer seeds at once (--together) or a smaller beam"
)

NOT_USABLE = (PermissionError, NotADirectoryError, IsADirectoryError)
NOT_USABLE_NUMBERS = (errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
"""Errors of the system that make a path unusable, and have no exception class."""


class Version(argparse.Action):
    """Print the version. It is looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        print(f"attnjax {installed('attnjax')}")
        parser.exit()


SHELLS = ("bash", "zsh")

FUNCTION = "_attnjax_experiment_files"
"""The shell function that lists experiments; by this name shtab's bash quotes its output."""

# a list of words, bash's -W or zsh's (...), is expanded once more: it must hold no file's name
BASH = """\
{function}() {{
  compgen -W "{names}" -- "$1"
  compgen -f -X '!*.py' -- "$1"
  compgen -d -- "$1"
}}"""
ZSH = """\
{function}() {{
  compadd -- {names}
  _files -g "*.py"
}}"""


class Completion(argparse.Action):
    """Print the program for a shell. shtab is imported when it is asked for."""

    def __call__(self, parser: Any, namespace: Any, values: Any, *_: object) -> NoReturn:
        import shtab

        words = {"function": FUNCTION, "names": " ".join(names())}
        experiment = {
            **dict.fromkeys(SHELLS, FUNCTION),
            "preamble": {"bash": BASH.format(**words), "zsh": ZSH.format(**words)},
        }
        (commands,) = (action for action in parser._actions if isinstance(action.choices, dict))
        for command in commands.choices.values():
            for action in command._actions:
                if action.dest == "experiment":
                    action.complete = experiment
                elif action.type is Path:
                    action.complete = shtab.FILE
        program = shtab.complete(parser, shell=values)
        # shtab does not quote a command of two words, which is no pattern of zsh
        print(re.sub(r"(?m)^( +)(\w+ \w+)\) _arg", r"\1'\2') _arg", program))
        raise SystemExit(0)


ATTNJAX = Program(
    name="attnjax", description="Attention, its ablations, and their verdicts.", groups=GROUPS
)


def parser(program: Program = ATTNJAX) -> tuple[Parser, dict[str, Parser]]:
    """Return the parser of the whole command line, and that of each command."""
    top = Parser(
        prog=program.name, description=program.description, usage=f"{program.name} COMMAND ..."
    )
    top.add_argument(
        "--version", action=Version, nargs=0, default=argparse.SUPPRESS, help="print it and exit"
    )
    if program is ATTNJAX:
        top.add_argument(
            "--completion",
            action=Completion,
            choices=SHELLS,
            default=argparse.SUPPRESS,
            help="print the program by which a shell completes words, and exit",
        )
    added = top.add_subparsers(
        dest="command",
        metavar="COMMAND",
        required=True,
        parser_class=Parser,
        prog=program.name,  # its default is the usage
    )
    for name, call in program.commands.items():
        changed = overrides(call)
        made = added.add_parser(
            name,
            help=sentence(call),
            description=sentence(call),
            usage=f"{program.name} {name} [options] {changed.of} [overrides]" if changed else None,
            epilog=changed.epilog if changed else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add_arguments(made, call)
    # groups in place of argparse's one list of commands
    helps = {action.dest: action for action in added._get_subactions()}
    _, options = top._action_groups
    top._action_groups = []
    for title, words in program.groups.items():
        top.add_argument_group(title)._group_actions += [helps[word] for word in words]
    top._action_groups.append(options)
    return top, added.choices


def main(arguments: Sequence[str] | None = None, program: Program = ATTNJAX) -> int:
    """Run a command of a program, and return its exit code.

    It is 0, 2 for a user's mistake, 75 for a run that was interrupted and is saved, and 130 for
    Ctrl-C in anything else.
    """
    open_streams()
    try:
        return _main(list(sys.argv[1:] if arguments is None else arguments), program)
    except UserError as error:
        return _fail(message(error), 2)
    except Interrupted as error:
        reason = f"interrupted ({error}); the same command goes on from what is saved"
        return _fail(reason, REQUEUE)
    except KeyboardInterrupt:
        return _fail("interrupted; the same command goes on from what is saved", 130)
    except BrokenPipeError:
        # the reader of our output has closed it: nothing is left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (MemoryError, RuntimeError) as error:
        if not exhausted(error):
            raise
        who = "Python" if isinstance(error, MemoryError) else "JAX"
        return _fail(f"{NO_MEMORY}; {who} says: {first_line(error)}", 2)
    except UnicodeEncodeError as error:
        if not any("\udc80" <= letter <= "\udcff" for letter in error.object):
            raise
        near = error.object[max(0, error.start - 40) : error.end + 20]
        return _fail(f"the name of a file or folder must be UTF-8; got {near!a}", 2)
    except OSError as error:
        sentence = _mendable(error)
        if sentence is None:
            raise
        return _fail(sentence, 2)


def _main(arguments: list[str], program: Program) -> int:
    """Parse the arguments and call the command; return its exit code."""
    from attnjax.config.override import split

    for word in arguments:
        if any("\udc80" <= letter <= "\udcff" for letter in word):
            raise UserError(f"an argument must be UTF-8; got {ascii(word)[:100]}")
    words, changes = split(arguments)
    if " ".join(words[:2]) in program.commands:
        words[:2] = [" ".join(words[:2])]
    top, commands = parser(program)
    if words and not words[0].startswith("-") and words[0] not in commands:
        raise unknown("command", words[0], commands)
    given, extra = top.parse_known_args(words)
    if extra and extra[0].startswith("-"):
        options = commands[given.command]._option_string_actions
        raise unknown(f"option of {given.command}", extra[0], options)
    if extra:
        typed = f"{program.name} {given.command}"
        raise UserError(f"unexpected argument {extra[0]!r}; see {typed} --help")
    call = program.commands[given.command]
    if changes and not overrides(call):
        raise UserError(f"{given.command} takes no overrides; got {changes[0]}")
    code = run(call, {**vars(given), "overrides": tuple(changes)})
    sys.stdout.flush()
    return code


def _mendable(error: OSError) -> str | None:
    """Return the sentence for an error that the user can correct; None for a bug of ours."""
    where = f" of {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk{where} is full; make room and repeat the command"
    if error.errno == errno.EFBIG:
        return f"a file{where} would be larger than the limit of this system or shell (ulimit -f)"
    unusable = isinstance(error, NOT_USABLE) or error.errno in NOT_USABLE_NUMBERS
    if error.filename and unusable:
        return f"{str(error.filename)[:100]}: {error.strerror}"
    return None


def _fail(sentence: str, code: int) -> int:
    """Print a sentence to standard error, and return the exit code."""
    print(f"attnjax: {one_line(sentence)}", file=sys.stderr)
    return code
