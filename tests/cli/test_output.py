"""Whatever becomes of standard output and error, no run is lost by it."""

import io
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from attnjax.config.console import plain_table
from tests import tiny
from tests.cli.saying import TINY

ROOT = Path(tiny.__file__).parents[1]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def shell(command: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of bash in which `attnjax` is the program."""
    program = f'attnjax() {{ "{sys.executable}" -m attnjax "$@"; }}; '
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(["bash", "-c", program + command], cwd=cwd, env=env, capture_output=True)


@pytest.mark.parametrize("environment", [ASCII, {**ASCII, "PYTHONIOENCODING": "ascii"}], ids=len)
def test_an_encoding_without_a_letter_gets_an_escape(environment):
    done = shell("attnjax list", **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert rb"\x" in done.stdout


def test_answers_and_json_are_utf_8(run):
    words = f"printf '1 2\\n' | attnjax predict {run}; attnjax evaluate {run} --split valid --json"
    done = shell(words, **ASCII)
    assert done.returncode == 0, done.stderr
    assert b'"on": "valid"' in done.stdout
    program = (
        "import sys; from attnjax.lab.cli.output import open_streams, write_utf8\n"
        "open_streams(); print('\\xe9'); write_utf8(); print('\\xe9'); print('\\ud800')\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | ASCII, capture_output=True)
    assert done.stdout == b"\\xe9\n\xc3\xa9\n\\ud800\n", done.stderr


@pytest.mark.parametrize(
    "command, code",
    [
        ("attnjax list >&-", 0),
        ("attnjax list >&- 2>&- <&-", 0),
        ("attnjax --help >&-", 0),
        ("attnjax nothing 2>&-", 2),
        ("attnjax nothing >&- 2>&-", 2),
        ("attnjax nothing 2>/dev/full", 2),
        ("attnjax list | head -1; exit ${PIPESTATUS[0]}", 0),
        ("attnjax list >/dev/full", 2),
    ],
)
def test_a_closed_or_full_output_is_no_traceback(command, code):
    done = shell(command)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "streams",
    [
        "2>&1 >/dev/null | head -1",
        pytest.param(">&- 2>&-", marks=pytest.mark.long),
        pytest.param("2>/dev/full >/dev/null", marks=pytest.mark.long),
    ],
)
@pytest.mark.usefixtures("tiny_runs")  # which have compiled its programs
def test_a_run_goes_on_when_nobody_hears_of_it(tmp_path, streams):
    words = f"attnjax run {TINY} --variant scaled --runs {tmp_path}"
    done = shell(f"{words} {streams}; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tiny" / "scaled" / "seed-0" / "result.json").exists()


def test_no_file_gets_the_number_of_a_closed_stream(tmp_path):
    program = (
        "from attnjax.lab.cli.output import open_streams\n"
        "open_streams(); file = open('file', 'w'); file.write(str(file.fileno()))\n"
        "print('lost'); import os; os.write(2, b'lost')\n"
    )
    done = shell(f'"{sys.executable}" -c "{program}" >&- 2>&-', tmp_path)
    assert done.returncode == 0
    assert int((tmp_path / "file").read_text()) > 2


@pytest.mark.parametrize("width", [12, 30, 40])
def test_a_narrow_screen_breaks_the_cells_of_a_table(width):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    drawn = plain_table(["variant", "state"], ["parameters"])
    drawn.add_row("unbreakable_name", "missing: 0, 1", "1,234,567,890")
    with console.capture() as capture:
        console.print(drawn)
    whole = "variant state parameters unbreakable_name missing: 0, 1 1,234,567,890"
    printed = "".join(capture.get().split())
    assert not Counter("".join(whole.split())) - Counter(printed)
    # where a cell has a line of its own, it is after its heading; a number is whole if it fits
    assert ("variant:unbreakable_name" in printed) == (width < 40)
    assert ("1,234,567,890" in capture.get().split()) == (width >= 13)
