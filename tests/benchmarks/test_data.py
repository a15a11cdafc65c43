"""`python -m benchmarks data` measures the path that a run takes, here of a few pairs."""

import json

import numpy as np
import pytest

from attnjax.data.prepared import VARIABLE, place
from attnjax.errors import MachineError
from benchmarks import __main__ as command, data


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "PIECES", 300)
    monkeypatch.setattr(data, "HELD_OUT", 20)
    monkeypatch.setattr(data, "LONGEST", 20)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "prepared"))
    return tmp_path


def test_pairs_are_written_prepared_and_read(folder, monkeypatch, capsys):
    data.write_pairs(folder, 400)
    figures = data.prepare(folder)
    corpus = data.task(folder).load()
    assert [len(split) for split in corpus.splits.values()] == [400, 20, 20]
    assert place(data.task(folder)).exists()
    assert [*corpus.sources["train"]] == (folder / "train.en").read_text().splitlines()
    figures |= data.read(folder)
    assert 0 < figures["padding"] < 1
    assert figures["megabytes"] > 0
    monkeypatch.setattr(data, "measure", lambda pairs: {"pairs": pairs, **figures})
    assert command.program(["data", "--pairs", "1234"]) == 0
    shown = capsys.readouterr().out
    for expected in ("1,234", f"{figures['tokens_per_second']:,.0f}", f"{figures['padding']:.1%}"):
        assert expected in shown
    assert command.program(["data", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["batches"] == [{"pairs": 450_000, **figures}]


def test_a_process_that_fails_is_one_sentence(tmp_path):
    with pytest.raises(MachineError, match="to read the pairs has failed; the reason stands above"):
        data._in_own_process("read", str(tmp_path))


def test_words_follow_the_law_of_zipf_and_lengths_are_alike():
    drawn = [*data.drawn_pairs(4_000, 0, words=1_000, longest=50)]
    assert drawn == [*data.drawn_pairs(4_000, 0, words=1_000, longest=50)]
    assert drawn != [*data.drawn_pairs(4_000, 1, words=1_000, longest=50)]
    lengths = np.array([[len(text.split()) for text in pair] for pair in drawn])
    assert lengths.min() >= 1
    assert lengths.max() == 50
    assert np.corrcoef(np.log(lengths.T))[0, 1] > 0.9
    _, counts = np.unique(
        [word for pair in drawn for text in pair for word in text.split()], return_counts=True
    )
    first, second = np.sort(counts)[::-1][:2] / counts.sum()
    assert first == pytest.approx(1 / np.sum(1 / np.arange(1, 1_001)), rel=0.1)
    assert second == pytest.approx(first / 2, rel=0.1)
