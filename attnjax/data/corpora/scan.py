"""Commands in simplified English, and the actions that they ask for: SCAN."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attnjax.data.corpora.held_out import WithHeldOut
from attnjax.data.corpus import Example
from attnjax.data.files import find_folder, read_lines
from attnjax.errors import UserError

LINE = re.compile(r"IN: (.*\S) OUT: (.*\S) *")


@dataclass(frozen=True, kw_only=True)
class Scan(WithHeldOut):
    """`jump opposite left and walk` -> `I_TURN_LEFT I_TURN_LEFT I_JUMP I_WALK`.

    Attributes:
        folder: of `simple_train.txt` and so on; as it is, or under the folder that the environment
            variable ATTNJAX_DATA names.
        split: simple: four fifths of all commands, drawn at random, to train on, the rest to test;
            length: to train on those of at most 22 actions, the longer ones to test.

    Source: Lake & Baroni 2018, sections 2 and 4; github.com/brendenlake/SCAN, whose
        `simple_split/tasks_train_simple.txt` is `simple_train.txt` here, and so on.
    """

    folder: str = "scan"
    split: Literal["simple", "length"] = "simple"

    def read(self) -> tuple[list[Example], list[Example]]:
        folder = find_folder(self.folder)
        return (
            read_commands(folder / f"{self.split}_train.txt"),
            read_commands(folder / f"{self.split}_test.txt"),
        )


def read_commands(path: Path) -> list[Example]:
    """The examples of a file that has `IN: command OUT: actions` in each line.

    Raises:
        UserError: when a line has not, and as `read_lines`.
    """
    examples = []
    for number, line in enumerate(read_lines(path), start=1):
        found = LINE.fullmatch(line)
        if found is None:
            raise UserError(
                f"'IN: command OUT: actions' was wanted; {path}, line {number}, is {line[:60]!r}"
            )
        examples.append(Example(found[1], found[2]))
    return examples
