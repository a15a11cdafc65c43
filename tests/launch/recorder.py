"""Stand-ins for programs that are not here: they record their calls, and say what they are told."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = """\
#!{python} -S
import json, os, sys
folder, name = {folder!r}, os.path.basename(sys.argv[0])
number = len(os.listdir(folder))
text = "" if sys.stdin.isatty() else sys.stdin.read()
with open(os.path.join(folder, f"{{number:04}}"), "w") as file:
    json.dump({{"words": [name, *sys.argv[1:]], "text": text}}, file)
answers = json.load(open({answers!r}))
for start, answer in answers:
    if [name, *sys.argv[1:]][: len(start)] == start:
        says = answer.pop(0) if len(answer) > 1 else answer[0]
        wanted = says.get("environment", {{}})
        assert wanted.items() <= os.environ.items(), "its environment lacks a variable"
        json.dump(answers, open({answers!r}, "w"))
        sys.stdout.write(says.get("out", ""))
        sys.stderr.write(says.get("error", ""))
        sys.exit(says.get("code", 0))
"""


@dataclass(frozen=True)
class Call:
    """A call of a program: its words, and its standard input."""

    words: list[str]
    text: str


class Recorder:
    """Programs that stand in for others, in a folder on the path."""

    def __init__(self, folder: Path) -> None:
        self.programs, self.folder = folder / "bin", folder / "calls"
        self.answers = folder / "answers.json"
        self.programs.mkdir(parents=True)
        self.folder.mkdir()
        self.answers.write_text("[]")

    def stand_in(self, *names: str) -> None:
        """Put a program of each name on the path."""
        content = PROGRAM.format(
            python=sys.executable, folder=str(self.folder), answers=str(self.answers)
        )
        for name in names:
            program = self.programs / name
            program.write_text(content)
            program.chmod(0o755)

    def answer(
        self,
        *start: str,
        out: str | Sequence[str] = "",
        error: str = "",
        code: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Set what a program says if its words start so; of several outputs, one a call.

        The program fails if a variable of `environment` is not in its own.
        """
        outputs = [out] if isinstance(out, str) else out
        says = [
            {"out": output, "error": error, "code": code, "environment": environment or {}}
            for output in outputs
        ]
        answers = [kept for kept in json.loads(self.answers.read_text()) if kept[0] != list(start)]
        # the longest start is the most exact one
        answers = sorted([*answers, [list(start), says]], key=lambda answer: -len(answer[0]))
        self.answers.write_text(json.dumps(answers))

    @property
    def calls(self) -> list[Call]:
        """All calls so far, in their order."""
        return [Call(**json.loads(path.read_text())) for path in sorted(self.folder.iterdir())]
