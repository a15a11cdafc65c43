"""A prepared corpus that was damaged is refused in a sentence, or is the corpus that it was."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree, rmtree

import numpy as np
import pytest

from attnjax.data import preparation
from attnjax.data.corpora.parallel_text import ParallelText
from attnjax.data.corpus import Corpus
from attnjax.data.prepared import MANIFEST, PROGRESS, VARIABLE, VERIFIED, place
from attnjax.data.row_files import MappedTexts, RowFile
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.vocabulary import Characters
from attnjax.errors import UserError


@pytest.fixture
def task(tmp_path, monkeypatch) -> ParallelText:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "prepared"))
    draw = np.random.default_rng(0)
    for split, count in {"train": 40, "valid": 6, "test": 6}.items():
        for side in ("en", "de"):
            lines = (" ".join(draw.choice(["ein", "grün", "es"], 4)) for _ in range(count))
            text = "".join(f"{split} {number} {line}\n" for number, line in enumerate(lines))
            (tmp_path / f"{split}.{side}").write_text(text, encoding="utf-8")
    return ParallelText(folder=str(tmp_path))


def content(corpus: Corpus):
    """All that a run reads of a corpus."""
    return (
        corpus.vocabularies,
        corpus.notes,
        corpus.text_notes,
        {split: ([*map(tuple, examples.source)], [*map(tuple, examples.target)])
         for split, examples in corpus.splits.items()},
        {split: [*texts] for split, texts in corpus.sources.items()},
        {split: [*texts] for split, texts in corpus.references.items()},
    )  # fmt: skip


def changed(path: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def flip(path: Path) -> None:
    def change(data: bytearray) -> None:
        data[len(data) // 2] ^= 1

    changed(path, change)


FILES = ("train.source", "train.target.offsets", "valid.sources", "test.references.offsets")


@pytest.mark.parametrize("name", [*FILES, MANIFEST])
def test_a_flipped_bit_is_a_sentence(task, name):
    preparation.prepared(task)
    flip(place(task) / name)
    with pytest.raises(UserError, match=rf"{name} is damaged.*delete"):
        preparation.prepared(task)


def test_columns_are_read_once_and_again_when_they_were_touched(task, monkeypatch):
    preparation.prepared(task)
    read = []
    check = RowFile.check
    monkeypatch.setattr(RowFile, "check", lambda self, *of: read.append(self) or check(self, *of))
    preparation.prepared(task)
    assert not read, "nothing was touched"
    path = place(task) / "valid.source"
    os.utime(path)
    preparation.prepared(task)
    assert len(read) == 4 * 3
    preparation.prepared(task)
    assert len(read) == 4 * 3
    # a time that is set back does not hide a change
    times = path.stat()
    flip(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(UserError, match="valid.source is damaged"):
        preparation.prepared(task)


def test_the_digest_of_a_split_is_kept_with_its_texts(task, monkeypatch):
    """It is not computed again, and it is not that of a split whose texts have taken its name."""
    digests = {split: task.load().digest(split) for split in ("train", "valid", "test")}
    corpus = preparation.prepared(task)
    other = replace(
        corpus,
        sources={"test": corpus.sources["valid"]},
        references={"test": corpus.references["valid"]},
    )
    mixed = replace(corpus, references={"test": corpus.references["test"][:3]})
    assert mixed.digest("test") not in digests.values()
    monkeypatch.setattr(MappedTexts, "__getitem__", lambda *_: pytest.fail("read again"))
    assert {split: corpus.digest(split) for split in digests} == digests
    assert other.digest("test") == digests["valid"]


def test_a_copy_is_read_and_is_the_corpus(task, tmp_path, monkeypatch):
    whole = content(preparation.prepared(task))
    copytree(tmp_path / "prepared", tmp_path / "copy")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "copy"))
    assert content(preparation.prepared(task)) == whole
    (place(task) / VERIFIED).write_text("{")
    assert content(preparation.prepared(task)) == whole


@pytest.mark.parametrize(
    ("name", "dtype", "place_in_it", "value"),
    [
        ("train.source.offsets", np.int64, 3, 0),  # it does not ascend
        ("train.target.offsets", np.int64, 0, 1),  # it does not begin at 0
        ("train.target", np.uint8, 5, 254),  # an id that the vocabulary has not
    ],
)
def test_numbers_that_no_preparation_writes_are_refused(
    task, monkeypatch, name, dtype, place_in_it, value
):
    """Also if the digests fit."""
    preparation.prepared(task)
    path = place(task) / name
    data = np.fromfile(path, dtype)
    data[place_in_it] = value
    data.tofile(path)
    monkeypatch.setattr("attnjax.data.row_files.file_digest", lambda _: "")
    manifest = preparation.PreparedManifest.read(place(task))
    files = {file: "" for split in manifest.splits for file in split.digests}
    splits = tuple(replace(split, digests=files) for split in manifest.splits)
    replace(manifest, splits=splits).write(place(task))
    with pytest.raises(UserError, match=rf"{name.removesuffix('.offsets')} is damaged"):
        preparation.prepared(task)


@pytest.mark.parametrize("name", [*FILES, PROGRESS])
def test_a_flipped_bit_of_what_was_broken_off_is_a_sentence(task, name):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(preparation, "text_notes", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            preparation.prepared(task)
    flip(place(task) / name)
    with pytest.raises(UserError, match=rf"{name} is damaged.*delete"):
        preparation.prepared(task)


@pytest.mark.parametrize("name", ["train.source", "valid.sources.offsets", "vocabulary", "folder"])
def test_nothing_is_written_through_a_link(task, tmp_path, name):
    folder = place(task)
    folder.parent.mkdir(exist_ok=True)
    if name == "folder":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir()
        (tmp_path / "elsewhere").write_text("mine\n")
        (folder / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="is a symbolic link, and a corpus is prepared in"):
        preparation.prepared(task)
    kept = tmp_path / "elsewhere"
    assert (kept.is_dir() and not [*kept.iterdir()]) or kept.read_text() == "mine\n"


def flip_anywhere(path: Path, draw: np.random.Generator) -> None:
    def change(data: bytearray) -> None:
        data[int(draw.integers(len(data)))] ^= 1 << int(draw.integers(8))

    changed(path, change)


def cut(path: Path, draw: np.random.Generator) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(draw.integers(len(data)))])


def lengthen(path: Path, draw: np.random.Generator) -> None:
    path.write_bytes(path.read_bytes() + draw.bytes(8))


def reverse(path: Path, _: object) -> None:
    path.write_bytes(path.read_bytes()[::-1])


def fill_with_zeros(path: Path, _: object) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def empty(path: Path, _: object) -> None:
    path.write_bytes(b"")


def remove(path: Path, _: object) -> None:
    path.unlink()


def replace_by_a_folder(path: Path, _: object) -> None:
    path.unlink()
    path.mkdir()


FLIPS = 3  # of each file
HARMS = (
    *[flip_anywhere] * FLIPS,
    cut,
    lengthen,
    reverse,
    fill_with_zeros,
    empty,
    remove,
    replace_by_a_folder,
)


@pytest.mark.long
def test_250_damages(task, tmp_path, record_property):
    """Every kind of harm to every file: a sentence, or the corpus as it was."""
    task = replace(task, vocabulary=SentencePiece(size=28), target_vocabulary=Characters())
    whole = content(preparation.prepared(task))
    folder = place(task)
    copytree(folder, tmp_path / "whole")
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    draw, refused, harmless = np.random.default_rng(0), [], []
    for harm in HARMS:
        for name in names:
            rmtree(folder)
            copytree(tmp_path / "whole", folder)
            harm(folder / name, draw)
            try:
                corpus = preparation.prepared(task)
            except UserError as error:
                refused.append(str(error))
                continue
            assert content(corpus) == whole, f"{harm.__name__} of {name} is another corpus"
            harmless.append(name)
    record_property("shown", f"{len(refused)} damages refused, {len(harmless)} harmless")
    assert not [sentence for sentence in refused if "\n" in sentence]
    assert len(refused) + len(harmless) >= 250
