"""A data file is found as it is named, or under the folder that ATTNJAX_DATA names."""

import pytest

from attnjax.data.files import DATA_VARIABLE, find_file, find_folder
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
    with pytest.raises(NoCorpus, match=f"^there is no {kind} {here}/nowhere$"):
        find(str(here / "nowhere"))
    # a file is no folder, and the other way round
    with pytest.raises(NoCorpus):
        find("corpus" if kind == "file" else "corpus/train.txt")


@pytest.mark.parametrize("path", ["x" * 5_000, "~nobody-of-this-name/x", "a\0b"])
@pytest.mark.parametrize("find", [find_file, find_folder])
def test_a_path_that_no_file_can_have(outside, find, path):
    with pytest.raises(UserError) as error:
        find(path)
    assert len(str(error.value)) < 400
