"""`attnjax --completion bash`: the program by which a shell completes commands and options."""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from attnjax.runs.catalog import names

SHELLS = ("bash", "zsh")


class Completion(argparse.Action):
    """Print the program for a shell. shtab is imported when it is asked for."""

    def __call__(self, parser: Any, namespace: Any, values: Any, *_: object) -> NoReturn:
        import shtab

        (commands,) = (each for each in parser._actions if isinstance(each.choices, dict))
        for command in commands.choices.values():
            for action in command._actions:
                if action.dest == "experiment":
                    action.complete = shtab.cmd(f"echo {' '.join(names())} *.py")
                elif action.type is Path:
                    action.complete = shtab.FILE
        print(shtab.complete(parser, shell=values))
        raise SystemExit(0)
