"""Folders and records that somebody else has made: one sentence, and nothing happens."""

import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import pytest

from attnjax.config.vary import vary
from attnjax.data.corpora.tfds import data_folder
from attnjax.data.vocabulary import CharacterVocabulary
from attnjax.errors import NoCorpus, UserError
from attnjax.experiment.load import load, load_text
from attnjax.files import file_digest
from attnjax.lab.cli.main import main
from attnjax.lab.cli.output import keep_compiled
from attnjax.lab.runs import failures
from attnjax.lab.runs.initial_parameters import source_of
from attnjax.lab.runs.json_files import read_sealed
from attnjax.lab.runs.lease import holder
from tests.cli.saying import TINY, sentence
from tests.runs.hostile import resealed

type Words = list[str]
EVALUATE, REPORT, RUN = "evaluate", "report", "run"


def seen(folder: Path) -> dict[str, bytes | str]:
    """Return everything in a folder: files with their contents, links with their targets."""
    return {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def config(**values: Any) -> Callable[[Path], None]:
    """Change keys of config.json, and its digest."""
    return lambda run: resealed(run / "config.json", **values)


def training(**values: Any) -> Callable[[Path], None]:
    """Change settings of training."""

    def change(run: Path) -> None:
        settings = read_sealed(run / "config.json")["settings"]
        settings["training"] |= values
        resealed(run / "config.json", settings=settings)

    return change


def result(**values: Any) -> Callable[[Path], None]:
    """Change keys of result.json, and its digest."""
    return lambda run: resealed(run / "result.json", **values)


def metric(**values: Any) -> Callable[[Path], None]:
    """Change the first number of a result."""

    def change(run: Path) -> None:
        first, *others = read_sealed(run / "result.json")["metrics"]
        changed = {key: value for key, value in (first | values).items() if value is not ...}
        resealed(run / "result.json", metrics=[changed, *others])

    return change


def sentences(**values: Any) -> Callable[[Path], None]:
    """Change the statistics of the answers, and their digest."""

    def change(run: Path) -> None:
        path = run / "sentences.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))
        files = read_sealed(run / "result.json")["files"]
        resealed(run / "result.json", files=files | {path.name: file_digest(path)})

    return change


def link(name: str) -> Callable[[Path], None]:
    """Put a symbolic link to somebody's file or folder in the place of one of the run."""

    def change(run: Path) -> None:
        path, outside = run / name, run.parents[3] / "outside"
        if path.is_dir():
            shutil.rmtree(path)
            path.symlink_to(outside)
        else:
            path.unlink(missing_ok=True)
            path.symlink_to(outside / "bashrc")
        (run / "result.json").unlink(missing_ok=True)  # it is to go on

    return change


def half_a_character(run: Path) -> None:
    path = run / "result.json"
    path.write_text(path.read_text().replace('"device": "', '"device": "\\ud800'))


def vocabulary(run: Path) -> None:
    """Put numbers in the place of pieces, with a digest that fits."""
    path = run / "vocabulary" / "vocabulary.json"
    pieces = tuple(range(10))
    digest = CharacterVocabulary(pieces).digest  # type: ignore[arg-type]
    content = {"kind": "CharacterVocabulary", "digest": digest, "pieces": pieces}
    path.write_text(json.dumps(content))
    resealed(run / "config.json", vocabulary=digest)


def nested(run: Path) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    settings = read_sealed(run / "config.json")["settings"]
    resealed(run / "config.json", settings=settings | {"task": deep})


@pytest.mark.parametrize(
    "command, harm",
    [
        (EVALUATE, config(seed="/../../outside")),
        (EVALUATE, config(seed=...)),
        (EVALUATE, config(settings=None)),
        (EVALUATE, config(settings={"training": {}})),
        (EVALUATE, config(variant=["scaled"])),
        (EVALUATE, config(together=[1])),
        (EVALUATE, config(vocabulary=3)),
        (EVALUATE, config(more=1)),
        (EVALUATE, training(average="many")),
        (EVALUATE, nested),
        (EVALUATE, vocabulary),
        (EVALUATE, result(averaged=[5])),
        (EVALUATE, result(averaged="6")),
        (EVALUATE, result(files={"../../outside/bashrc": "0"})),
        (RUN, training(steps="../../../../outside/bashrc")),
        (RUN, link("checkpoints")),
        (RUN, link("lock")),
        (RUN, link("metrics.jsonl")),
        (RUN, link("vocabulary")),
        (RUN, link("events")),
        (RUN, link("checkpoints/6")),
        (REPORT, result(metrics=...)),
        (REPORT, result(metrics=[1])),
        (REPORT, result(date=3)),
        (REPORT, result(versions=["jax"])),
        (REPORT, result(seconds="long")),
        (REPORT, result(best_validation_loss="low")),
        (REPORT, result(seed=1)),
        (REPORT, half_a_character),
        (REPORT, metric(value="high")),
        (REPORT, metric(part=[5, 4])),
        (REPORT, metric(name=...)),
        (REPORT, sentences(statistics=[[1], [1, 2]])),
        (REPORT, sentences(statistics=[["a"]])),
        (REPORT, sentences(lengths=[1])),
    ],
)
def test_a_hostile_run(tiny_runs, tmp_path, monkeypatch, capsys, command, harm):
    monkeypatch.chdir(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "bashrc").write_text("precious")
    run = tmp_path / "runs" / "tiny" / "scaled" / "seed-0"
    shutil.copytree(tiny_runs / "tiny" / "scaled" / "seed-0", run)
    harm(run)
    before = seen(outside)
    options = ["--variant", "scaled", "--seeds", "1", "--runs", "runs"]
    words = {
        EVALUATE: ["evaluate", str(run)],
        REPORT: ["report", "runs"],
        RUN: ["run", TINY, *options],
    }[command]
    sentence(capsys, *words)
    assert seen(outside) == before
    assert {path.name for path in tmp_path.iterdir()} == {"outside", "runs"}


def test_a_report_is_never_written_through_a_link(tiny_runs, tmp_path):
    (tmp_path / "bashrc").write_text("precious")
    runs = shutil.copytree(tiny_runs, tmp_path / "runs")
    for name in ("report.html", "summary.json"):
        (runs / "tiny" / name).unlink()
        (runs / "tiny" / name).symlink_to(tmp_path / "bashrc")
    assert main(["report", str(runs)]) == 0
    assert (tmp_path / "bashrc").read_text() == "precious"
    assert (runs / "tiny" / "report.html").read_text().startswith("<!doctype html>")


def test_half_a_report_is_never_left(tiny_runs, tmp_path, capsys):
    runs = shutil.copytree(tiny_runs, tmp_path / "runs")
    before = seen(runs)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        assert main(["report", str(runs)]) == 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "report.html cannot be written: File too large" in capsys.readouterr().err
    assert seen(runs) == before


@pytest.mark.parametrize("values", [{"since": "yesterday"}, {"since": 1e300}, {"pid": []}], ids=str)
def test_a_damaged_lease_is_that_of_an_unknown_process(tmp_path, values):
    content = {"host": "a", "machine": "b", "pid": 1, "since": 0.0, "locked": False}
    (tmp_path / "lease-9.json").write_text(json.dumps(content | values))
    (tmp_path / "lease-²³.json").write_text("")
    assert str(holder(tmp_path)).startswith("process 0 of an unknown machine, since 1970")


def test_a_text_as_a_loss_ends_a_curve(tiny_runs, tmp_path):
    runs = shutil.copytree(tiny_runs, tmp_path / "runs")
    run = runs / "tiny" / "scaled" / "seed-0"
    row = {"step": 1, "epoch": 1, "split": "train", "loss": "low"}
    (run / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    files = read_sealed(run / "result.json")["files"]
    resealed(
        run / "result.json", files=files | {"metrics.jsonl": file_digest(run / "metrics.jsonl")}
    )
    assert main(["report", str(runs)]) == 0


class Mute(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


def test_an_error_whose_message_raises_an_error(tmp_path):
    assert failures.record(tmp_path, Mute()) == "Mute: its message cannot be read"
    text = "class Mute(Exception):\n    def __str__(self):\n        raise Mute\n\nraise Mute"
    with pytest.raises(UserError, match="line 5, failed: Mute: its message cannot be read"):
        load_text(text, name="mute", path=tmp_path / "mute.py")


@pytest.mark.parametrize("text", ["-" * 100_000 + "1", "(" * 1000, "x = '\0'"])
def test_a_program_that_cannot_be_read(tmp_path, capsys, text):
    path = tmp_path / "program.py"
    path.write_text(text)
    assert str(path) in sentence(capsys, "show", str(path))


def test_a_line_break_in_a_name_stays_in_the_line(tmp_path, capsys):
    sentence(capsys, "evaluate", str(tmp_path / "a\nTraceback\x1b[2J"))


HOMES = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "TFDS_DATA_DIR", "USER", "LOGNAME", "LNAME")


def test_a_user_without_a_home(tmp_path, monkeypatch):
    for name in HOMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**30)
    words = [TINY, "--variant", "scaled", "--seeds", "1", "--runs", str(tmp_path)]
    assert main(["run", *words, "--dry-run"]) == 0
    cache = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    try:
        keep_compiled()
        assert jax.config.jax_compilation_cache_dir is None
    finally:
        jax.config.update("jax_compilation_cache_dir", cache)
    with pytest.raises(NoCorpus, match="TFDS_DATA_DIR names another folder"):
        data_folder(None)
    base = load(Path(TINY)).ablation.base
    with pytest.raises(UserError, match="initial_parameters_from: Could not determine home"):
        source_of(vary(base, {"initial_parameters_from": "~/x"}), 0, tmp_path)
