"""`attnjax --completion bash`: the program by which a shell completes commands and options."""

import argparse
import re
from pathlib import Path
from typing import Any, NoReturn

from attnjax.runs.catalog import names

SHELLS = ("bash", "zsh")

FUNCTION = "_attnjax_experiment_files"
"""The shell function that lists experiments; shtab's bash quotes what a function named so gives."""

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
        (commands,) = (each for each in parser._actions if isinstance(each.choices, dict))
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
