"""Charts are drawn by another process, whose end loses the figures and nothing else."""

import shlex
import subprocess
import sys

import pytest

from attnjax.lab.reporting import drawing, page
from tests.reporting.fake import summary, write_runs

BAR = {"mark": "bar", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}
ABORTS = "import os, sys; sys.stdin.readline(); os.abort()"


def test_one_process_draws_all_charts(monkeypatch):
    started, start = [], subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(1) or start(*a, **k))
    with drawing.in_one_process():
        first = drawing.svg(BAR)
        assert first.startswith("<svg")
        with pytest.raises(ValueError):  # noqa: PT011 - the words are Vega's
            drawing.svg({"mark": "no such mark"})
        assert drawing.svg(BAR) == first
    assert started == [1]


@pytest.mark.parametrize(
    ("program", "why", "hint"),
    [
        (ABORTS, "SIGABRT", "a limit of memory"),
        ("import time; time.sleep(60)", "no chart in 1 s", "`attnjax report` draws again"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL", "a limit of memory"),
        (
            "import sys; print('no JSON', flush=True); sys.stdin.read()",
            "SIGKILL",
            "a limit of memory",
        ),
        # a library that is not installed, or does not load, has nothing to do with memory
        ("raise ImportError", "exit code 1", f"`{sys.executable} -c 'import vl_convert'`"),
    ],
)
def test_a_process_that_ends_is_one_warning(monkeypatch, capsys, program, why, hint):
    monkeypatch.setattr(drawing, "PROGRAM", program)
    monkeypatch.setattr(drawing, "SECONDS", 1.0)
    with drawing.in_one_process():
        for _ in range(2):
            with pytest.raises(ValueError, match=rf"the process that draws ended \({why}\)"):
                drawing.svg(BAR)
    said = capsys.readouterr().err
    assert said.startswith("attnjax: warning: the process that draws ended")
    assert f"so the report lacks figures; {hint}" in said
    assert said.count("\n") == 1


def test_the_page_goes_on_without_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(drawing, "PROGRAM", ABORTS)
    text = page.write(tmp_path, write_runs(tmp_path, summary())).read_text(encoding="utf-8")
    assert "could not be drawn: ValueError: the process that draws ended (SIGABRT)" in text
    assert "<svg role" not in text
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.long
def test_a_limit_of_the_address_space_loses_the_figures_alone(tiny_runs):
    """The limit of a batch system: the table is printed, and one sentence."""
    report = shlex.join([sys.executable, "-m", "attnjax", "report", str(tiny_runs)])
    words = ["sh", "-c", f"ulimit -v {12 * 2**20}; exec {report}"]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "exact match" in ended.stdout
    assert "report: " in ended.stdout
    assert ended.stderr.startswith("attnjax: warning: the process that draws ended (SIGTRAP)")
    assert ended.stderr.count("\n") == 1
