"""The report of a sweep that is still running."""

import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.reporting import live

TINY = Path(__file__).parents[1] / "tiny.py"
RELOADS = '<meta http-equiv="refresh" content="30">'


@pytest.fixture
def folder(tiny_runs, tmp_path) -> Path:
    """Runs of which one is not finished, without a report."""
    run = Path("scaled") / "seed-0"
    for name in (run, run.with_name("seed-1")):
        without = shutil.ignore_patterns("checkpoints")
        shutil.copytree(tiny_runs / "tiny" / name, tmp_path / "tiny" / name, ignore=without)
    (tmp_path / "tiny" / run / "result.json").unlink()
    return tmp_path / "tiny"


def test_a_page_loads_itself_again_until_the_sweep_ends(folder, monkeypatch):
    report, now = folder / "report.html", [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    page = live.LiveReport(folder=folder, loaded=load(TINY), written=now[0])
    now[0] += live.SECONDS - 1
    page.update()
    assert not report.exists(), "a short sweep draws one page, at its end"
    now[0] += 1
    page.update()
    text = report.read_text()
    assert RELOADS in text
    assert "Runs are still being trained" not in text, "a training may be killed at any time"
    written = time.strftime("%Y-%m-%d", time.localtime(report.stat().st_mtime))
    assert f"Runs were being trained when this page was written, {written} " in text
    assert "<code>attnjax report</code> writes the page of what is there" in text
    assert "scaled" in text
    report.unlink()
    now[0] += live.SECONDS - 1
    page.update()
    assert not report.exists(), "it was written less than a minute ago"
    assert main(["report", str(folder)]) == 0
    assert RELOADS not in report.read_text()
    assert "Runs were being trained" not in report.read_text()


def test_a_damaged_run_ends_no_training(folder, monkeypatch):
    result = folder / "scaled" / "seed-1" / "result.json"
    result.write_text(result.read_text().replace('"seed": 1', '"seed": 2'))
    live.LiveReport(folder=folder, loaded=load(TINY), written=-1e9).update()
    assert not (folder / "report.html").exists()
    assert main(["report", str(folder)]) == 2


def test_while_the_first_variant_is_tuned_there_is_no_page(tmp_path):
    """A first tuning that takes longer than a minute failed: the page wanted a row."""
    live.LiveReport(folder=tmp_path / "tiny", loaded=load(TINY), written=-1e9).update()
    assert not (tmp_path / "tiny" / "report.html").exists()


@pytest.mark.parametrize("name", ["report.html", "summary.json"])
def test_a_page_that_cannot_be_written_ends_no_training(folder, capsys, name):
    """The table is printed, and a sentence names the file."""
    (folder / name).mkdir()
    live.LiveReport(folder=folder, loaded=load(TINY), written=-1e9).update()
    assert main(["report", str(folder)]) == 0
    printed, said = capsys.readouterr()
    assert "scaled" in printed
    assert f"{folder / name} cannot be written: Is a directory" in said


def test_the_table_of_runs_of_somebody_else_is_printed(folder, tiny_runs, monkeypatch, capsys):
    """They may be read alone: `--sentences` ended before the table, and a warning named half files.

    Runs that are there are not run again, so `run` prints it, too.
    """
    run = Path("scaled") / "seed-1"
    shutil.copytree(tiny_runs / "tiny" / run, folder / run, dirs_exist_ok=True)
    shutil.rmtree(folder / "scaled" / "seed-0")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    opened = os.open

    def open_to_read(path, flags, *more, **named):
        if flags & os.O_CREAT and folder in Path(path).parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", open_to_read)
    asked = ["--variant", "scaled", "--seed", "1", "--runs", str(folder.parent)]
    for command in (["report", str(folder), "--sentences", "8"], ["run", str(TINY), *asked]):
        assert main(command) == 0
        printed, said = capsys.readouterr()
        assert "scaled" in printed
        assert f"{folder / 'summary.json'} cannot be written: Permission denied" in said
        assert f"there is no report: {folder / 'report.html'} cannot be written" in said
        assert ("no more sentences are kept" in said) == (command[0] == "report")
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
