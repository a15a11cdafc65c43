"""Damaged files of a run: each is named in a sentence, by whatever reads it; nothing is silent."""

import json
import os
import shutil
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attnjax.lab.cli.main import main
from attnjax.lab.loop.run_state import RunGroup
from attnjax.lab.results.lines import read_records

TINY = str(Path(__file__).parents[1] / "tiny.py")
OPTIONS = ["--variant", "cosine", "--seeds", "1"]


def flip_a_digit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    place = next(n for n, byte in enumerate(content) if chr(byte).isdigit())
    content[place] = ord("1") if content[place] != ord("1") else ord("2")
    path.write_bytes(content)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def overwrite(path: Path) -> None:
    path.write_bytes(bytes(range(256)))


def nest(path: Path) -> None:
    path.write_text("[" * 100_000)


def retype(path: Path) -> None:
    path.write_text("[1]\n")


HARMS = (flip_a_digit, cut_in_half, empty, overwrite, nest, retype, Path.unlink)
type Harm = Callable[[Path], None]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert main(["run", TINY, *OPTIONS, "--runs", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory) -> Iterator[Path]:
    folder, batch = tmp_path_factory.mktemp("cut"), RunGroup.batch

    def press(self: RunGroup):
        if self.step == 4:
            RunGroup.batch = batch
            os.kill(os.getpid(), signal.SIGTERM)
        return batch(self)

    RunGroup.batch = press
    assert main(["run", TINY, *OPTIONS, "--runs", str(folder)]) == 75
    return folder


def harmed(whole: Path, folder: Path, name: str, harm: Harm) -> tuple[Path, Path]:
    """Return a copy of runs, and the file in it that was damaged."""
    runs = shutil.copytree(whole, folder / "runs")
    path = runs / "tiny" / "cosine" / "seed-0" / name
    before = path.read_bytes()
    harm(path)
    assert not path.exists() or path.read_bytes() != before
    return runs, path


def told(capsys, words: list[str]) -> tuple[int, str]:
    """Return a command's exit code, and what it says on standard error."""
    capsys.readouterr()
    code = main(words)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "delete" not in said
    return code, said


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("name", ["config.json", "result.json"])
def test_a_damaged_record_of_a_finished_run_is_refused(capsys, tmp_path, finished, name, harm):
    runs, path = harmed(finished, tmp_path, name, harm)
    gone = not path.exists()
    for words in (
        ["run", TINY, *OPTIONS, "--runs", str(runs)],
        ["report", str(runs)],
        ["evaluate", str(path.parent)],
    ):
        if gone and name == "result.json" and words[0] != "report":
            continue  # a run without it is not finished: it is finished now
        code, said = told(capsys, words)
        assert code == 2
        # without its result there is no finished run at all
        named = str(path) if not gone else {"config.json": path.name}.get(name, str(runs))
        assert named in said
        assert said.count("\n") == 1


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
@pytest.mark.parametrize(
    "name", ["metrics.jsonl", "attention.json", "sentences.json", "hypotheses.txt"]
)
def test_a_damaged_file_of_a_result_is_named(capsys, tmp_path, finished, name, harm):
    runs, path = harmed(finished, tmp_path, name, harm)
    for words in (["run", TINY, *OPTIONS, "--runs", str(runs)], ["report", str(runs)]):
        code, said = told(capsys, words)
        assert code == 2
        assert f"{path} is " in said
        assert said.count("\n") == 1
    # the parameters are whole
    code, said = told(capsys, ["evaluate", str(path.parent)])
    assert code == 0
    assert f"warning: {path} is " in said


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__)
def test_a_damaged_experiment_file_is_named(capsys, tmp_path, finished, cut_off, harm):
    for number, whole in enumerate((finished, cut_off)):
        runs, path = harmed(whole, tmp_path / str(number), "experiment.py", harm)
        for words in (
            ["run", TINY, *OPTIONS, "--runs", str(runs)],
            ["evaluate", str(path.parent)],
        ):
            code, said = told(capsys, words)
            assert code == 2
            assert str(path) in said
            assert said.count("\n") == 1


def test_the_report_names_an_experiment_file_that_was_changed(capsys, tmp_path, finished):
    runs, path = harmed(finished, tmp_path, "experiment.py", empty)
    code, said = told(capsys, ["report", str(runs)])
    assert code == 0
    assert said == f"attnjax: warning: {path} was changed after the run was started\n"


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        pytest.param(
            name,
            harm,
            id=f"{name}-{harm.__name__}",
            # without its rows a run goes on to its end, which takes seconds
            marks=pytest.mark.long if name == "metrics.jsonl" and harm != cut_in_half else [],
        )
        for name in ("config.json", "metrics.jsonl", "vocabulary/vocabulary.json")
        for harm in HARMS
    ],
)
def test_a_damaged_file_of_a_cut_off_run_is_named(capsys, tmp_path, cut_off, name, harm):
    runs, path = harmed(cut_off, tmp_path, name, harm)
    if name == "config.json" and not path.exists():
        assert told(capsys, ["evaluate", str(path.parent)])[0] == 2
    code, said = told(capsys, ["run", TINY, *OPTIONS, "--runs", str(runs)])
    assert path.name in said
    assert code == (0 if name == "metrics.jsonl" else 2)
    if code == 0:
        whole = json.loads((path.parent / "result.json").read_text())
        assert whole["step"] == 6


def test_a_damaged_checkpoint_of_a_cut_off_run_is_kept_aside(capsys, tmp_path, finished, cut_off):
    runs, path = harmed(cut_off, tmp_path, "checkpoints/4/digest", empty)
    code, said = told(capsys, ["evaluate", str(path.parents[2])])
    assert code == 2
    assert "checkpoints/4 is corrupt" in said
    code, said = told(capsys, ["run", TINY, *OPTIONS, "--runs", str(runs)])
    assert code == 0
    assert "kept aside as 4.corrupt" in said
    ours, theirs = (
        json.loads((folder / "tiny/cosine/seed-0/result.json").read_text())["metrics"]
        for folder in (runs, finished)
    )
    assert ours == theirs


class PowerCut(BaseException):
    """The end of a process whose machine loses power."""


MOMENTS = (
    "lease-1.json",
    "vocabulary.json",
    "config.json",
    "metrics.jsonl",
    "digest",
    "hypotheses.txt",
    "references.json",
    "result.json",
    "summary.json",
    "report.html",
    "x86_64",
)
"""Part of the name of a file; power is lost once it has been written, `x86_64` is a record's."""


QUICK = ("config.json", "digest", "result.json")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in MOMENTS],
)
def test_after_a_loss_of_power_the_same_command_has_the_same_bits(
    tmp_path, monkeypatch, finished, name
):
    """What no `fsync` has seen is empty afterwards, or half of it is there."""
    runs, records, flushed = tmp_path / "runs", tmp_path / "records", dict[int, bytes]()
    fsync, rename = os.fsync, os.replace

    def run_all() -> None:
        assert main(["run", TINY, *OPTIONS, "--runs", str(runs)]) == 0
        assert main(["record", str(runs / "tiny"), "--to", str(records), "--trust"]) == 0

    def flush(opened: int) -> None:
        fsync(opened)
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            flushed[os.fstat(opened).st_ino] = Path(f"/proc/self/fd/{opened}").read_bytes()

    def replace(source, target, **options):
        rename(source, target, **options)
        if name in Path(target).name:
            raise PowerCut

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PowerCut):
        run_all()
    monkeypatch.undo()
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    for number, path in enumerate(written):
        content = path.read_bytes()
        if flushed.get(path.stat().st_ino) != content:
            path.write_bytes(content[: len(content) // 2] if number % 2 else b"")
    run_all()
    first, again = (
        json.loads((root / "tiny" / "cosine" / "seed-0" / "result.json").read_text())
        for root in (finished, runs)
    )
    for key in ("parameters_digest", "metrics"):
        assert again[key] == first[key]
    assert len(read_records(records)) == 1
