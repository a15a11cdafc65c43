"""The command line: arguments are parsed, and a command is called.

JAX is imported by what a command calls, so that `attnjax list` and `--help` are quick.
"""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from attnjax.errors import Interrupted, UserError, unknown
from attnjax.runs.versions import installed

OVERRIDES = """\
overrides change the experiment and each of its variants, in any order:
  model.encoder_layer.self_attention.head.score:dot    choose a part
  --model.encoder_layer.self_attention.heads 4              give a value
`attnjax show EXPERIMENT` lists every path, with the values there now."""


SEARCH = """\
overrides change the search for answers, or take heads out:
  search:sample --search.temperature 0.7    sample the words, at this temperature
  --model.encoder_layer.self_attention.heads_out 0,3    without heads 0 and 3 of every layer
several runs act as one: each word by the mean of their probabilities."""


TAKE_OVERRIDES = ("show", "run", "evaluate", "predict")


NO_MEMORY = (
    "there is not enough memory; take smaller batches (--training.batching.max_tokens), "
    "fewer seeds at once or a smaller beam"
)


NOT_USABLE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EINVAL,
)
"""Errors of the system that mean that a path cannot be used."""


COMMANDS = {"import": "import_model"}
"""The function of a command whose name is a word of Python."""


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise a UserError."""
        raise UserError(f"{message}; see {self.prog} --help")


def whole_number(most: int) -> Callable[[str], int]:
    """A function that reads an option's value: a whole number from 1 to `most`."""

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
        if not 1 <= number <= most:
            raise argparse.ArgumentTypeError(
                f"wanted a whole number from 1 to {most:,}; got {text[:40]!r}"
            )
        return number

    return read


class Version(argparse.Action):
    """Print the version. It is looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> NoReturn:
        """Print and exit."""
        print(f"attnjax {installed('attnjax')}")
        parser.exit()


def parser() -> tuple[Parser, dict[str, Parser]]:
    """The parser of the whole command line, and that of each command."""
    top = Parser(prog="attnjax", description="Attention, its ablations, and their verdicts.")
    top.add_argument(
        "--version", action=Version, nargs=0, default=argparse.SUPPRESS, help="print it and exit"
    )
    added = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, help: str, *, of: str = "", epilog: str | None = None) -> Parser:
        return added.add_parser(
            name,
            help=help,
            description=help,
            usage=f"attnjax {name} [options] {of} [overrides]" if epilog else None,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def path(command: Parser, name: str, help: str) -> None:
        command.add_argument(name.lower(), metavar=name, type=Path, help=help)

    add("list", "The experiments that come with attnjax.")

    changed = {"of": "EXPERIMENT", "epilog": OVERRIDES}
    show = add("show", "Print all settings of an experiment, and its cost.", **changed)
    run = add("run", "Run an experiment, and resume interrupted runs.", **changed)
    for command in (show, run):
        command.add_argument(
            "experiment", metavar="EXPERIMENT", help="the name of a shipped experiment, or a file"
        )
        command.add_argument(
            "--setting",
            metavar="S",
            help="a setting of the experiment, such as paper: the paper's own scale",
        )
    show.add_argument("--variant", help="a variant; default: the base")
    run.add_argument(
        "--variant", action="append", default=[], help="a variant to run; may be repeated"
    )
    run.add_argument(
        "--seeds",
        type=whole_number(10_000),
        metavar="N",
        help="the number of runs of each variant; default: as the file says",
    )
    run.add_argument(
        "--dry-run", action="store_true", help="print what would be run, and how long it may take"
    )
    run.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="the results' folder; default: runs",
    )

    parts = add("parts", "Print the parts that can be chosen for a field, or its values.")
    parts.add_argument(
        "path",
        metavar="PATH",
        help="a field, such as model.encoder_layer.self_attention.head.score",
    )
    parts.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        nargs="?",
        help="the name of a shipped experiment, or a file; default: a Transformer that copies",
    )

    check = add(
        "check", "Check the parts that a file defines: masked rows, causality, half precision, ..."
    )
    check.add_argument("experiment", metavar="FILE", help="an experiment file")

    report = add("report", "Make the table and report.html of finished runs again.")
    path(report, "RUNS", "an experiment's folder, or the one that --runs named")

    searched = {"of": "RUN [RUN ...]", "epilog": SEARCH}
    evaluate = add("evaluate", "Score trained runs.", **searched)
    evaluate.add_argument("--split", metavar="S", help="train, valid or test; default: test")
    evaluate.add_argument(
        "--source", type=Path, metavar="F", help="a file of sources, instead of a split"
    )
    evaluate.add_argument(
        "--reference", type=Path, metavar="F", help="a file of references, one line for each source"
    )
    evaluate.add_argument("--json", action="store_true", help="print one JSON object")

    predict = add("predict", "Answer the lines of standard input.", **searched)
    predict.add_argument(
        "--extra",
        type=whole_number(10**6),
        default=50,
        metavar="N",
        help="the greatest length of an answer, in words more than its line has; default: 50",
    )
    for command in (report, evaluate, predict):
        command.add_argument(
            "--trust", action="store_true", help="execute an experiment.py of somebody else"
        )
    for command in (evaluate, predict):
        command.add_argument(
            "runs", metavar="RUN", nargs="+", type=Path, help="a run's folder; several act as one"
        )
        command.add_argument(
            "--max-symbols",
            type=whole_number(10**9),
            default=1_000,
            metavar="N",
            help="the most words or subwords of a line; default: 1000",
        )
        command.add_argument(
            "--beam",
            type=whole_number(10_000),
            metavar="N",
            help="the number of hypotheses; 1 is greedy; default: the run's own search",
        )

    imported = add("import", "Import a model of another program as a run, to begin others with.")
    imported.add_argument("layout", metavar="LAYOUT", choices=("bert",), help="bert")
    path(imported, "FOLDER", "of config.json, vocab.txt and model.safetensors")
    imported.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="for results; default: runs"
    )

    bench = add("bench", "Time workloads, beside PyTorch and CTranslate2 if given; takes minutes.")
    bench.add_argument(
        "workloads",
        metavar="WORKLOAD",
        nargs="*",
        help="attention, train, seq2seq, decode, or one of their sizes; default: all",
    )
    bench.add_argument(
        "--peer", type=Path, metavar="PYTHON", help="the interpreter that has torch, ctranslate2"
    )
    bench.add_argument("--json", action="store_true", help="print one JSON object")
    bench.add_argument("--against", type=Path, metavar="F", help="what --json printed earlier")
    return top, added.choices


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code.

    It is 0, 2 for a user's mistake, 130 for Ctrl-C, and 143 for SIGTERM.
    """
    try:
        return _main(list(sys.argv[1:] if arguments is None else arguments))
    except UserError as error:
        return _fail(str(error), 2)
    except Interrupted as error:
        said = f"interrupted ({error}); the same command goes on from what is saved"
        return _fail(said, 128 + error.signal)
    except KeyboardInterrupt:
        return _fail("interrupted; the same command goes on from what is saved", 130)
    except BrokenPipeError:
        # the reader of our output has closed it: nothing is left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError as error:
        return _fail(f"{NO_MEMORY}; Python says: {error}", 2)
    except RuntimeError as error:
        # JAX raises a RuntimeError; JAX is not imported here to name its class
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return _fail(f"{NO_MEMORY}; JAX says: {str(error).splitlines()[0]}", 2)
    except OSError as error:
        sentence = _mendable(error)
        if sentence is None:
            raise
        return _fail(sentence, 2)


def _main(arguments: list[str]) -> int:
    from attnjax.config.override import split

    for word in arguments:
        if any("\udc80" <= letter <= "\udcff" for letter in word):
            raise UserError(f"an argument must be UTF-8; got {ascii(word)[:100]}")
    words, overrides = split(arguments)
    top, commands = parser()
    if words and not words[0].startswith("-") and words[0] not in commands:
        raise unknown("command", words[0], commands)
    given, extra = top.parse_known_args(words)
    if extra:
        options = [
            option
            for action in commands[given.command]._actions
            for option in action.option_strings
        ]
        if not extra[0].startswith("-"):
            raise UserError(f"unexpected argument {extra[0]!r}; see attnjax {given.command} --help")
        raise unknown(f"option of {given.command}", extra[0], options)
    if overrides and given.command not in TAKE_OVERRIDES:
        raise UserError(f"{given.command} takes no overrides; got {overrides[0]}")

    from attnjax.cli import commands as called

    command = getattr(called, COMMANDS.get(given.command, given.command))
    options = {name: value for name, value in vars(given).items() if name != "command"}
    if given.command in TAKE_OVERRIDES:
        options["overrides"] = tuple(overrides)
    code = command(**options)
    sys.stdout.flush()
    return code or 0


def _mendable(error: OSError) -> str | None:
    """The sentence for an error that the user can correct; None: the error is a bug of ours."""
    where = f" of {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk{where} is full; make room and repeat the command"
    if error.filename and error.errno in NOT_USABLE:
        return f"{str(error.filename)[:100]}: {error.strerror}"
    return None


def _fail(sentence: str, code: int) -> int:
    print(f"attnjax: {sentence}", file=sys.stderr)
    return code
