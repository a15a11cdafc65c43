"""The page of data of one's own: its files, its commands and what they print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "own-data.md"


def printed(text: str) -> list[str]:
    """Lines without their numbers, whose last digits depend on the machine."""
    lines = (re.sub(r"[\d.,]+( ±)?|─+", "", line).split() for line in text.splitlines())
    return [" ".join(words) for words in lines if words]


@pytest.mark.long
def test_the_commands_print_what_the_page_says(tmp_path: Path):
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        (tmp_path / block.split()[1].rstrip(":")).write_text(block)
    indented = re.findall(r"(?:^    .*\n|^\n(?=    ))+", PAGE.read_text(), re.MULTILINE)
    blocks = [block for text in indented for block in text.strip("\n").split("\n\n")]
    commands = [number for number, block in enumerate(blocks) if "attnjax " in block]
    assert len(commands) == 4
    for command in ("python make_data.py", *(blocks[number].strip() for number in commands)):
        command = command.replace("attnjax", f"{shlex.quote(sys.executable)} -m attnjax")
        command = re.sub("^python", shlex.quote(sys.executable), command)
        found = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=600
        )
        assert found.returncode == 0, found.stderr
        if "run " in command:
            place = next(n for n in commands if command.split("run ")[1] in blocks[n])
            assert printed(found.stdout) == printed(blocks[place + 1])
        elif "predict" in command:
            assert found.stdout.startswith("der Hund ")
