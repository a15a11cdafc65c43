"""SCAN: commands in simplified English, and the actions that they ask for."""

import re
from dataclasses import dataclass
from pathlib import Path

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpora.held_out import WithHeldOut
from attnjax.data.corpus import Example
from attnjax.data.files import find_folder, parse_lines
from attnjax.errors import UserError, unknown

LINE = re.compile(r"IN: (.*\S) OUT: (.*\S) *")


@dataclass(frozen=True, kw_only=True)
class Scan(WithHeldOut):
    """`jump opposite left and walk` -> `I_TURN_LEFT I_TURN_LEFT I_JUMP I_WALK`.

    Files have the names that their authors gave them, `tasks_train_length.txt` and
    `tasks_test_length.txt`, anywhere below the folder; or `length_train.txt` and `length_test.txt`
    in the folder itself.

    Attributes:
        folder: of the files, such as a checkout of their repository; looked for as it is, then
            under ATTNJAX_DATA.
        split: the name of a split: simple (commands drawn at random to train on, the others to
            test), length (at most 22 actions to train on, more to test), addprim_jump,
            addprim_turn_left, template_around_right, or any other that the folder has.

    Source: Lake & Baroni 2018; Loula et al. 2018 (template and filler splits);
        github.com/brendenlake/SCAN.
    """

    folder: str = "scan"
    split: str = "simple"

    def read(self) -> tuple[list[Example], list[Example]]:
        folder = find_folder(self.folder)
        files = (find_split(folder, self.split, part) for part in ("train", "test"))
        train, test = (parse_lines(file, _command) for file in files)
        return [*train], [*test]


@dataclass(frozen=True, kw_only=True)
class ScanByActions(WithHeldOut):
    """All commands of SCAN, cut by the number of actions that they ask for.

    Commands of up to `longest` actions are those to train on, longer ones the test: with 22 the
    split `length` of `Scan`, whose files are read in another order.

    Attributes:
        folder: as that of `Scan`, with the split "simple", whose two parts are all commands.

    Source: Csordás et al. 2021, who cut at 26 actions.
    """

    folder: str = "scan"
    longest: PositiveInt = 26

    def read(self) -> tuple[list[Example], list[Example]]:
        every = [example for part in Scan(folder=self.folder).read() for example in part]
        short = [example for example in every if _actions(example) <= self.longest]
        long = [example for example in every if _actions(example) > self.longest]
        if not long:
            raise UserError(
                f"task.longest must be below {max(map(_actions, every))}, the most actions of a "
                f"command; got {self.longest}"
            )
        return short, long


def _actions(example: Example) -> int:
    return len(example.target.split())


def find_split(folder: Path, split: str, part: str) -> Path:
    """Find the file of a split's "train" or "test" part."""
    official = {path.name: path for path in sorted(folder.rglob(f"tasks_{part}_*.txt"))}
    short = {path.name: path for path in sorted(folder.glob(f"*_{part}.txt"))}
    for files, name in ((official, f"tasks_{part}_{split}.txt"), (short, f"{split}_{part}.txt")):
        if name in files:
            return files[name]
    known = [name.removeprefix(f"tasks_{part}_").removesuffix(".txt") for name in official]
    known += [name.removesuffix(f"_{part}.txt") for name in short]
    raise unknown(f"split (tasks_{part}_<split>.txt in {folder})", split, known)


def _command(line: str) -> Example:
    parts = LINE.fullmatch(line)
    if parts is None:
        raise ValueError(f"is {line[:60]!r}, not 'IN: command OUT: actions'")
    return Example(parts[1], parts[2])
