"""What comes from files is shown on a console, and steers no terminal."""

import ast
import io
import json
from pathlib import Path

import pytest
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from attnjax.config.console import PlainConsole, plain_table, print_line, printable
from attnjax.lab.cli.output import say_answer

HOSTILE = "\x1b]0;title\x07[2J\x9b31m[link=file:///x]name[/link][/z]:smile:\r\x08\x7f"


def table(title: str | None = None) -> Table:
    drawn = plain_table(["name"], title=title)
    drawn.add_row(HOSTILE)
    return drawn


@pytest.mark.parametrize("shown", [HOSTILE, Text(HOSTILE), table(), table(HOSTILE)])
@pytest.mark.parametrize("terminal", [True, False])
def test_a_console_shows_text_and_does_nothing_else(shown, terminal):
    stream = io.StringIO()
    console = PlainConsole(file=stream, width=200, force_terminal=terminal, color_system=None)
    console.print(shown)
    print_line(console, HOSTILE)
    printed = stream.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")  # of a heading
    printed = printed.replace("\x1b[3m", "")  # of a title
    for letter in "\x1b\x07\x9b\r\x08\x7f":
        assert letter not in printed
    assert "\\u001b" in printed
    assert "[link=file:///x]name[/link][/z]:smile:" in printed


def test_a_bar_still_moves_the_cursor():
    stream = io.StringIO()
    console = PlainConsole(file=stream, force_terminal=True, width=80)
    with Progress(console=console) as bar:
        bar.add_task("a", total=2)
        bar.refresh()
    assert "\x1b[2K" in stream.getvalue()
    assert "\\u001b" not in stream.getvalue()


def test_text_of_every_script_is_printed_as_it_is():
    for text in ("naïve 你好 नमस्ते\u200d a\u00a0b\tc\n", "👩\u200d🔬", "שלום\u200f"):
        assert printable(text) == text
    assert json.loads(printable(json.dumps({"a": HOSTILE}, ensure_ascii=False)))["a"] == HOSTILE


@pytest.mark.parametrize("terminal", [True, False])
def test_an_answer_is_unchanged_in_a_file_and_harmless_on_a_terminal(monkeypatch, terminal):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stdout", stream)
    say_answer(HOSTILE)
    assert ("\x1b" in stream.getvalue()) != terminal


def test_every_command_prints_by_this_console():
    package = Path(__file__).parents[1] / "attnjax"
    for path in package.rglob("*.py"):
        if path.name == "console.py":
            continue
        calls = [
            each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Call)
        ]
        names = [call.func.id for call in calls if isinstance(call.func, ast.Name)]
        assert "Console" not in names, path
