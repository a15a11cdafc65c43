"""What `attnjax bench data` measures is the path that a run takes, here of a few pairs."""

import pytest
from rich.console import Console

from attnjax.benchmark import prepared
from attnjax.benchmark.data import tables
from attnjax.data.prepared import VARIABLE, place


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(prepared, "PIECES", 300)
    monkeypatch.setattr(prepared, "HELD_OUT", 20)
    monkeypatch.setattr(prepared, "LONGEST", 20)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "prepared"))
    return tmp_path


def test_pairs_are_written_prepared_and_read(folder):
    prepared.write_pairs(folder, 400)
    figures = prepared.prepare(folder)
    corpus = prepared.task(folder).load()
    assert [len(split) for split in corpus.splits.values()] == [400, 20, 20]
    assert place(prepared.task(folder)).exists()
    text = (folder / "train.en").read_text()
    assert [*corpus.sources["train"]] == text.splitlines()
    row = {"corpus": "few", "batches": "packed", **figures, **prepared.read(folder)}
    assert 0 < row["padding"] < 1
    assert row["megabytes"] > 0
    shown = Console(width=200)
    with shown.capture() as capture:
        shown.print(tables({"batches": [row], "trainings": []})[0])
    assert f"{row['tokens_per_second']:,.0f}" in capture.get()
    assert f"{row['padding']:.1%}" in capture.get()
