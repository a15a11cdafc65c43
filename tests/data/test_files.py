"""A data file is found as it is named, or under the folder that ATTNJAX_DATA names."""

import gzip
import os
from pathlib import Path
from threading import Thread

import pytest

from attnjax.data.corpora.parallel_text import ParallelText, read_pairs
from attnjax.data.files import (
    DATA_VARIABLE,
    find_file,
    find_file_or_pipe,
    find_folder,
    read_lines,
)
from attnjax.errors import NoCorpus, UserError


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Data in a folder that is not the working directory."""
    (tmp_path / "data" / "corpus").mkdir(parents=True)
    (tmp_path / "data" / "corpus" / "train.txt").write_text("a\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    return tmp_path / "data"


def test_a_path_is_looked_for_as_given_and_then_under_the_variable(outside, monkeypatch):
    file, folder = outside / "corpus" / "train.txt", outside / "corpus"
    assert (find_file(str(file)), find_folder(str(folder))) == (file, folder)
    monkeypatch.setenv(DATA_VARIABLE, str(outside))
    assert (find_file("corpus/train.txt"), find_folder("corpus")) == (file, folder)
    here = outside.parent / "here" / "corpus"
    here.mkdir()
    assert find_folder("corpus").resolve() == here


@pytest.mark.parametrize(("find", "kind"), [(find_file, "file"), (find_folder, "folder")])
def test_a_path_that_is_nowhere(outside, monkeypatch, find, kind):
    here = outside.parent / "here"
    with pytest.raises(
        NoCorpus, match=f"no {kind} nowhere in {here}, and .*{DATA_VARIABLE}.* is not set"
    ):
        find("nowhere")
    monkeypatch.setenv(DATA_VARIABLE, str(outside))
    with pytest.raises(
        NoCorpus, match=f"no {kind} nowhere in {here}, nor one under {DATA_VARIABLE}={outside}"
    ):
        find("nowhere")
    # an absolute path is looked for in one place
    with pytest.raises(NoCorpus, match=f"^there is no {kind} {here}/nowhere"):
        find(str(here / "nowhere"))
    # a file is no folder, and the other way round
    with pytest.raises(NoCorpus):
        find("corpus" if kind == "file" else "corpus/train.txt")


def test_a_missing_file_s_message_has_what_the_folder_has(outside, monkeypatch):
    folder = outside / "corpus"
    with pytest.raises(NoCorpus, match=rf"; {folder} has train\.txt$"):
        find_file(folder / "trian.txt")
    for number in range(12):
        (folder / f"test.{number}").touch()
    monkeypatch.setenv(DATA_VARIABLE, str(outside))
    with pytest.raises(NoCorpus, match=rf"; {folder} has test\.11, test\.1, .* and 5 more$"):
        find_file("corpus/test.x11")
    with pytest.raises(UserError, match=rf"test\.x-00000-of-\.\.\.; {folder} has test\."):
        read_lines(folder / "test.x")


@pytest.mark.parametrize("path", ["x" * 5_000, "~nobody-of-this-name/x", "a\0b"])
@pytest.mark.parametrize("find", [find_file, find_folder])
def test_a_path_that_no_file_can_have(outside, find, path):
    with pytest.raises(UserError) as error:
        find(path)
    assert len(str(error.value)) < 400


def test_a_compressed_file_and_shards_are_read_as_one_plain_file(tmp_path):
    lines = [f"zeile {number} ü" for number in range(7)]
    text = "\n".join(lines).encode()
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "small.gz").write_bytes(gzip.compress(text))
    for number, part in enumerate((lines[:3], lines[3:4], lines[4:])):
        path = tmp_path / f"cut-{number:05d}-of-00003.gz"
        path.write_bytes(gzip.compress("\n".join(part).encode()))
    for name in ("plain", "small", "small.gz", "cut", "cut-*"):
        assert read_lines(find_file(tmp_path / name)) == lines


def test_brackets_in_a_name_are_letters_and_an_asterisk_stands_for_others(tmp_path):
    folder = tmp_path / "data [1]*"
    folder.mkdir()
    for name in ("a[1].en", "a[1].x.en", "a1.en", "b?.de", "bc.de"):
        (folder / name).write_text(f"{name}\n")
    (folder / "cut[2]-00000-of-00001.gz").write_bytes(gzip.compress(b"cut\n"))
    assert read_lines(find_file(folder / "a[1].en")) == ["a[1].en"]
    assert read_lines(find_file(folder / "a[1]*.en")) == ["a[1].en", "a[1].x.en"]
    assert read_lines(find_file(folder / "cut[2]")) == ["cut"]
    assert read_lines(find_file(folder / "b?.de")) == ["b?.de"]
    with pytest.raises(NoCorpus):
        find_file(folder / "a[0-9]*")


def piped(path: Path, text: str) -> Path:
    """A pipe that a thread writes a text into once somebody reads it."""
    os.mkfifo(path)
    Thread(target=path.write_text, args=(text,), daemon=True).start()
    return path


def test_the_lines_of_a_pipe_are_read_once(tmp_path, monkeypatch):
    pipes = [piped(tmp_path / "source", "a\nb\n"), piped(tmp_path / "target", "A\nB\n")]
    pairs = [*read_pairs(*map(find_file_or_pipe, pipes))]
    assert [pair[:2] for pair in pairs] == [("a", "A"), ("b", "B")]
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    (tmp_path / "short").write_text("A\n")
    longer = piped(tmp_path / "longer", "a\nb\nc\n")
    with pytest.raises(UserError, match="longer has 3, .*short has 1"):
        list(read_pairs(find_file_or_pipe("longer"), find_file_or_pipe("short")))
    with pytest.raises(UserError, match="longer is a pipe or a device, .* wanted a regular file"):
        find_file(longer)


def test_a_task_wants_files_that_it_can_read_again(tmp_path):
    for name in ("train.de", "valid.en", "valid.de", "test.en", "test.de"):
        (tmp_path / name).write_text("a\n")
    os.mkfifo(tmp_path / "train.en")
    with pytest.raises(UserError, match=r"train\.en is a pipe or a device, which can be read only"):
        ParallelText(folder=str(tmp_path)).load()
