"""The papers' settings that are tried on synthetic corpora."""

import numpy as np
import pytest

from attnjax.benchmark.papers import SETTINGS, write
from attnjax.benchmark.prepared import pairs
from attnjax.data.corpora.tfds import Translation, find_prepared
from attnjax.experiment import load
from attnjax.runs.catalog import find


@pytest.mark.parametrize("chosen", SETTINGS, ids=lambda chosen: "-".join(chosen[:3]))
def test_a_setting_reads_the_corpus_of_its_name(chosen):
    ablation = load(find(chosen.experiment)).at(chosen.setting).ablation
    task = ablation.variant(chosen.variant).task
    assert isinstance(task, Translation)
    assert task.name == chosen.corpus


def test_a_corpus_is_written_once(tmp_path):
    write(tmp_path, "wmt14_translate/de-en", 40)
    folder = find_prepared("wmt14_translate/de-en", str(tmp_path))
    files = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    write(tmp_path, "wmt14_translate/de-en", 40)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == files
    task = Translation(source="en", target="de", folder=str(tmp_path))
    assert len([*task.reader()("train")]) == 40


def test_words_follow_the_law_of_zipf_and_lengths_are_alike():
    drawn = [*pairs(4_000, 0, words=1_000, longest=50)]
    assert drawn == [*pairs(4_000, 0, words=1_000, longest=50)]
    assert drawn != [*pairs(4_000, 1, words=1_000, longest=50)]
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
