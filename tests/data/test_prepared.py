"""A prepared corpus is the corpus, whatever happens while it is prepared."""

import gzip
import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attnjax.data import preparation, tokenizing
from attnjax.data.batching import Batching
from attnjax.data.corpora.parallel_text import ParallelText, Reversed, TabSeparated
from attnjax.data.loaded import Corpora
from attnjax.data.moses import MosesWords
from attnjax.data.packed import Packed
from attnjax.data.prepared import (
    MANIFEST,
    PROGRESS,
    VARIABLE,
    own_classes,
    place,
    source_code,
)
from attnjax.data.row_files import MappedTexts, RowFile
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.text_notes import text_notes
from attnjax.data.vocabulary import Characters, SplitWords
from attnjax.data.with_test import WithTest
from attnjax.errors import UserError
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main

WORDS = ("ein", "grün@@", "es", "a b", "wörter", "\u2028")
COUNT = 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Pairs in files, one of them compressed, another in shards; chunks of a few examples."""
    draw = np.random.default_rng(0)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "prepared"))
    monkeypatch.setattr(tokenizing, "CHUNK", 8)
    monkeypatch.setattr(preparation, "SAVE_EVERY", 16)

    def lines(count):
        return [" ".join(draw.choice(WORDS, draw.integers(0, 7))) for _ in range(count)]

    for split, count in {"train": COUNT, "valid": 9, "test": 9}.items():
        for side in ("en", "de"):
            text = "".join(f"{line}\n" for line in ["x", *lines(count - 1)])
            (tmp_path / f"{split}.{side}").write_text(text, encoding="utf-8")
    train = (tmp_path / "train.de").read_text(encoding="utf-8")
    (tmp_path / "train.de").unlink()
    for number, part in enumerate(
        (train[: train.index("\n", 99) + 1], train[train.index("\n", 99) + 1 :])
    ):
        shard = tmp_path / f"train.de-{number:05d}-of-00002.gz"
        shard.write_bytes(gzip.compress(part.encode()))
    return tmp_path


@pytest.fixture
def task(folder):
    return ParallelText(folder=str(folder), max_length=6)


def content(folder: Path) -> dict[str, bytes]:
    """What a folder holds, but for the times in its manifest."""
    return {path.name: path.read_bytes() for path in folder.glob("*.*") if path.suffix != ".json"}


def same(prepared, loaded) -> bool:
    texts = all(
        [*mine[split]] == theirs[split]
        for mine, theirs in (
            (prepared.sources, loaded.sources),
            (prepared.references, loaded.references),
        )
        for split in theirs
    )
    return texts and (
        prepared.splits == loaded.splits
        and prepared.vocabularies == loaded.vocabularies
        and prepared.notes == loaded.notes
        and prepared.text_notes == text_notes(loaded)
        and all(prepared.digest(split) == loaded.digest(split) for split in loaded.splits)
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"train": "train[20:]", "valid": "train[:20]", "test": None},
        {"source_order": Reversed(), "vocabulary": Characters(), "max_length": None},
        {"vocabulary": SentencePiece(size=20), "target_vocabulary": SplitWords(min_count=2)},
    ],
    ids=str,
)
def test_the_same_corpus(task, changes, capsys):
    task = replace(task, **changes)
    loaded = task.load()
    prepared = preparation.prepared(task)
    assert same(prepared, loaded)
    assert "prepares" in capsys.readouterr().err
    for batching in (Batching(max_tokens=400), Packed(max_tokens=512, length=64)):
        plans = [batching.plan(corpus.splits["train"]) for corpus in (prepared, loaded)]
        for step in range(2 * plans[0].per_epoch):
            assert all(map(np.array_equal, *(plan.batch(step, 3) for plan in plans)))
    # a second time nothing is prepared; with the run's vocabularies neither
    assert same(preparation.prepared(task), loaded)
    assert same(preparation.prepared(task, loaded.vocabularies), loaded)
    assert same(task.load(), loaded)
    assert "prepares" not in capsys.readouterr().err
    lengths = np.bincount(np.ceil(np.log2(loaded.splits["train"].lengths.max(1))).astype(int))
    manifest = preparation.PreparedManifest.read(place(task))
    assert manifest.split("train").lengths == tuple(lengths)


def test_words_that_several_processes_count(task, monkeypatch):
    """The words of the kept examples, of both sides or of each, as one process counts them."""
    map_chunks = preparation.map_chunks
    for target in (None, MosesWords(language="de", min_count=3)):
        words = replace(task, target_vocabulary=target, vocabulary=SplitWords(max_size=4))
        kept = [*filter(words.keeps, words.reader()(words.train))]
        assert len(kept) < COUNT
        monkeypatch.setattr(preparation, "_processes", lambda _, split: int(split == "train"))
        assert preparation.prepare(words)[1].vocabulary == words.learn(kept.copy).digest
        # the second time this process counts by what another one would call
        monkeypatch.setattr(preparation, "map_chunks", lambda *of: map_chunks(*of[:2], 0))
    # a part that does not count words learns from the texts themselves
    monkeypatch.setattr(preparation, "map_chunks", lambda *_: pytest.fail("counted"))
    pieces = replace(task, vocabulary=SentencePiece(size=20), target_vocabulary=SplitWords())
    with pytest.raises(pytest.fail.Exception):
        preparation.prepare(pieces)
    assert [*(place(task).parent / "vocabularies").glob("*/source/sentencepiece.model")]


def test_no_more_processes_than_cores_that_this_one_may_use(task, monkeypatch):
    monkeypatch.setattr(preparation, "PER_PROCESS", 1)
    for cores in ({0}, {3, 5, 8}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: cores, raising=False)
        assert preparation._processes(task, "train") == len(cores)


def test_tab_separated_pairs_and_vocabularies_of_a_run(folder):
    (folder / "t.tsv").write_text("a b\tA\nc\tB B\n")
    task = TabSeparated(folder=str(folder), train="t.tsv", valid=None, test=None)
    given = replace(task, vocabulary=Characters()).load().vocabularies
    loaded, with_given = task.load(), task.load(given)
    assert same(preparation.prepared(task), loaded)
    assert same(preparation.prepared(task, given), with_given)


def test_a_large_corpus_is_prepared_at_its_first_use(task, monkeypatch, capsys):
    loaded, said = task.load(), []
    assert not place(task).exists()
    monkeypatch.setattr(preparation, "LARGE", 1_000)
    corpus = Corpora(said.append).of(task)
    assert isinstance(corpus.sources["train"], MappedTexts)
    assert same(replace(corpus, notes=loaded.notes), loaded)
    assert corpus.notes == (*loaded.notes, *text_notes(loaded))
    assert f"once, in {place(task)}" in capsys.readouterr().err
    assert any("test sources are in the training split" in sentence for sentence in said)


def test_a_corpus_to_be_prepared_is_known_before_it_is_read(task, monkeypatch):
    inside = WithTest(task=task, test=task)
    assert not preparation.to_be_prepared(task)
    monkeypatch.setattr(preparation, "LARGE", 1_000)
    assert preparation.to_be_prepared(task)
    assert preparation.to_be_prepared(inside)
    assert not place(task).exists()
    task.load()
    assert not preparation.to_be_prepared(inside)


def test_a_vocabulary_is_learned_once(task, monkeypatch):
    first = preparation.prepared(task)
    monkeypatch.setattr(SplitWords, "learn", lambda *_: pytest.fail("learned again"))
    other = preparation.prepared(replace(task, valid=None, source_order=Reversed()))
    assert other.vocabularies == first.vocabularies
    (task.files("train")[0]).write_text("other\n" * COUNT)
    with pytest.raises(pytest.fail.Exception):
        preparation.prepared(replace(task, valid=None, test=None))


@pytest.mark.parametrize("died", [0, 7, 13, 30, 38])
def test_what_is_broken_off_goes_on_and_becomes_the_same(task, monkeypatch, tmp_path, died):
    preparation.prepared(task)
    whole = content(place(task))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "again"))
    append, calls = RowFile.append, []

    def dies(self, rows):
        calls.append(self.path)
        if len(calls) == died + 1:
            with self.path.open("ab") as file:  # a part of the rows is written
                file.write(b"abc")
            raise KeyboardInterrupt
        append(self, rows)

    monkeypatch.setattr(RowFile, "append", dies)
    with pytest.raises(KeyboardInterrupt):
        preparation.prepared(task)
    assert not (place(task) / MANIFEST).exists()
    preparation.prepared(task)
    assert content(place(task)) == whole
    assert not (place(task) / PROGRESS).exists()
    # 38 chunks and their columns, if nothing is written twice that was safe
    assert len(calls) <= 1 + 4 * (-(-COUNT // 8) + 2 + 2) + 4 * 2


def test_a_source_that_was_changed_is_refused(task, monkeypatch):
    preparation.prepared(task)
    source = task.files("valid")[0]
    os.utime(source, ns=(1, 1))
    preparation.prepared(task)  # the same content at another time
    source.write_text(source.read_text() + "more\n")
    for use in (preparation.prepared, ParallelText.load, preparation.prepared):
        with pytest.raises(UserError, match=rf"{source} was changed or removed since .*delete"):
            use(task)


def test_a_source_whose_new_content_has_the_old_size_is_refused(task):
    preparation.prepared(task)
    source = task.files("valid")[0]
    before = source.read_bytes()
    source.write_bytes(before[::-1])
    os.utime(source, ns=(1, 1))
    with pytest.raises(UserError, match=rf"{source} was changed or removed"):
        preparation.prepared(task)


def test_a_source_that_changes_meanwhile_is_refused(task, monkeypatch):
    count = preparation.text_notes

    def changes(corpus):
        task.files("test")[0].write_text("new\n" * 9)
        return count(corpus)

    monkeypatch.setattr(preparation, "text_notes", changes)
    with pytest.raises(UserError, match="was changed or removed"):
        preparation.prepared(task)
    assert not (place(task) / MANIFEST).exists()
    # what was written of the other texts is not taken for these
    monkeypatch.setattr(preparation, "text_notes", count)
    assert preparation.prepared(task).sources["test"][:] == ["new"] * 9


@pytest.mark.parametrize("name", ["train.source", "test.references.offsets", "vocabulary"])
def test_a_damaged_folder_is_refused(task, name):
    preparation.prepared(task)
    path = place(task) / name
    path = path / "vocabulary.json" if path.is_dir() else path
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(UserError, match=f"{path.name.removesuffix('.offsets')}.* is damaged"):
        preparation.prepared(task)


def test_a_folder_that_cannot_be_written_to(task, folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder / "train.en"))
    with pytest.raises(UserError, match=rf"cannot be written to .*{VARIABLE} names another"):
        preparation.prepared(task)


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(folder, capsys, monkeypatch):
    """A limit on the size of a file is met as the end of a disk is."""
    files = [folder / "big.en", folder / "big.de"]
    for file in files:
        file.write_text("ein wort\n" * 2_000)
    words = ["data", "prepare", *map(str, files), "task.vocabulary:characters"]
    monkeypatch.setattr(preparation, "SAVE_EVERY", 200)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, before[1]))
    try:
        assert main(words) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (*_, sentence) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("attnjax: a file of ")
    assert "would be larger than the limit" in sentence
    (path,) = (folder / "prepared").glob(f"ParallelText-*/{PROGRESS}")
    progress = preparation.PreparedManifest.read(path.parent, PROGRESS)
    assert progress.split("train").kept in range(200, 2_000)
    assert main(words) == 0
    assert "2,000" in capsys.readouterr().out


def prepare_by_processes(folder: Path, cache: Path) -> subprocess.Popen:
    """Start a preparation by two processes; it prints what it has prepared at its end."""
    program = (
        "from attnjax.data import preparation, tokenizing, ParallelText\n"
        "if __name__ == '__main__':\n"
        "    preparation.SAVE_EVERY, tokenizing.CHUNK = 400, 200\n"
        "    preparation.PER_PROCESS, preparation.usable_cores = 1, lambda: 2\n"
        f"    task = ParallelText(folder={str(folder)!r}, max_length=6)\n"
        "    preparation.prepared(task)\n"
    )
    (folder / "program.py").write_text(program)
    environment = os.environ | {VARIABLE: str(cache)}
    command = [sys.executable, str(folder / "program.py")]
    return subprocess.Popen(command, env=environment, start_new_session=True)


def test_a_script_that_prepares_when_it_is_imported_is_not_imported_again(folder):
    """Processes of a script without `if __name__ == "__main__"` would wait for the script."""
    program = (
        "from attnjax.data import preparation, ParallelText\n"
        "print('begins')\n"
        "preparation.PER_PROCESS, preparation.usable_cores = 1, lambda: 1\n"
        f"preparation.prepared(ParallelText(folder={str(folder)!r}))\n"
        "import __main__\n"
        "assert __main__.preparation is preparation\n"
        "print('ends')\n"
    )
    (folder / "program.py").write_text(program)
    command = [sys.executable, str(folder / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "begins\nends\n", done.stderr


@pytest.mark.long
def test_killed_by_sigkill_it_goes_on(folder, monkeypatch):
    """Killed at several places, alone: its own processes end by themselves."""
    for path in [*folder.glob("train.en"), *folder.glob("train.de*")]:
        path.unlink()
    draw = np.random.default_rng(1)
    for side in ("en", "de"):
        lines = (" ".join(draw.choice(WORDS, draw.integers(1, 7))) for _ in range(20_000))
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    assert prepare_by_processes(folder, folder / "whole").wait() == 0
    (whole,) = (folder / "whole").glob("ParallelText-*/")
    for size in (1, 20_000, 60_000):
        process = prepare_by_processes(folder, folder / "cut")
        while not any(
            path.stat().st_size >= size for path in (folder / "cut").rglob("train.source")
        ):
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.001)
        process.kill()
        process.wait()
        end = time.monotonic() + 30
        while members(process.pid) and time.monotonic() < end:
            time.sleep(0.1)
        assert not members(process.pid)
        (cut,) = (folder / "cut").glob("ParallelText-*/")
        assert not (cut / MANIFEST).exists()
    assert prepare_by_processes(folder, folder / "cut").wait() == 0
    assert content(cut) == content(whole)
    monkeypatch.setenv(VARIABLE, str(folder / "cut"))
    task = ParallelText(folder=str(folder), max_length=6)
    prepared = task.load()
    monkeypatch.setenv(VARIABLE, str(folder / "nowhere"))
    assert same(prepared, task.load())


def members(session: int) -> list[int]:
    """The processes of a session that still run."""
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, number = stat.read_text().rpartition(")")[2].split()[:4]
            if int(number) == session and state != "Z":
                alive.append(int(stat.parent.name))
    return alive


def test_a_class_that_stands_in_no_file_is_read_at_every_start(folder):
    namespace = {"__name__": "typed", "ParallelText": ParallelText}
    exec("class Typed(ParallelText): pass", namespace)
    task = namespace["Typed"](folder=str(folder), max_length=6)
    assert not preparation.is_prepared(task)
    assert len(task.load().splits["train"])
    with pytest.raises(UserError, match="Typed stands in none"):
        preparation.prepare(task)


def test_a_class_of_an_experiment_file_has_a_text(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "from attnjax.data import ParallelText\n"
        "from attnjax.experiment import Ablation, Experiment\n"
        "from attnjax.models import Seq2Seq, LuongDecoder\n\n\n"
        "class Own(ParallelText):\n    pass\n\n\n"
        "base = Experiment(task=Own(), model=Seq2Seq(decoder=LuongDecoder()))\n"
        "ablation = Ablation(base=base, variants={'base': base})\n"
    )
    task = load(path).ablation.base.task
    (kind,) = own_classes(task).values()
    assert source_code(kind) == "class Own(ParallelText):\n    pass\n"
