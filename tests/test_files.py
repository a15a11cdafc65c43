"""A file is written whole or not at all."""

import os
import resource
import stat
from collections.abc import Iterator

import pytest

from attnjax.files import in_a_line, new_folder, replacing, write_atomically


@pytest.fixture
def narrow() -> Iterator[None]:
    """A umask that keeps others out."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced(tmp_path):
    for content, written in (("naïve\n", "naïve\n".encode()), (b"\xff", b"\xff")):
        write_atomically(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == written
    assert names(tmp_path) == ["file"]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "outside").write_text("precious")
    (tmp_path / "file").symlink_to(tmp_path / "outside")
    write_atomically(tmp_path / "file", "new")
    assert (tmp_path / "outside").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "new"
    assert not (tmp_path / "file").is_symlink()


def test_the_umask_and_the_mode_hold(tmp_path, narrow):
    write_atomically(tmp_path / "file", "")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    os.umask(0o022)
    write_atomically(tmp_path / "file", "")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o644
    write_atomically(tmp_path / "file", "", mode=0o600)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_after_a_failure_the_file_of_before_stays_alone(tmp_path):
    write_atomically(tmp_path / "file", "before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            write_atomically(tmp_path / "file", bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == str(tmp_path / "file"), "the sentence names it"
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file") as beside:
        beside.write_text(f"half {1 / 0}")
    assert (tmp_path / "file").read_text() == "before"
    assert names(tmp_path) == ["file"]


def fill(folder, text: str) -> None:
    with new_folder(folder) as beside:
        (beside / "file").write_text(text)
        assert not (folder / "file").exists()
        if text == "half":
            raise ValueError("stop")


def test_a_text_in_a_line_has_spaces_for_line_breaks_alone():
    assert in_a_line("a\nb\r\nc\rd\n") == "a b c d "
    assert in_a_line(text := "a\tb\u2028c\x85d\x0be\u00a0 ") == text


def test_a_folder_is_new_and_whole(tmp_path):
    with pytest.raises(ValueError, match="stop"):
        fill(tmp_path / "folder", "half")
    assert names(tmp_path) == []
    fill(tmp_path / "folder", "whole")
    assert (tmp_path / "folder/file").read_text() == "whole"
    assert names(tmp_path) == ["folder"]


def test_a_folder_that_is_there_stays(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/before").write_text("precious")
    with pytest.raises(OSError, match="not empty"), new_folder(tmp_path / "folder"):
        pass
    assert names(tmp_path / "folder") == ["before"]
    assert names(tmp_path) == ["folder"]


def test_what_a_kill_left_goes_when_it_is_old(tmp_path):
    names = (
        "a.json.0a1b2c3d.tmp",
        "b.json.0a1b2c3d.tmp",
        "a.json.mine.tmp",
        "xa.json.0a1b2c3d.tmp",
    )
    for name in (*names, "a.json.1a1b2c3d.tmp"):
        (tmp_path / name).write_text("half")
    for name in names:
        os.utime(tmp_path / name, (1, 1))
    for name in (".new-old", ".new-busy"):
        (tmp_path / name / "new").mkdir(parents=True)
        (tmp_path / name / "new" / "part").write_text("half")
        for path in (tmp_path / name / "new" / "part", tmp_path / name / "new", tmp_path / name):
            os.utime(path, (1, 1))
    (tmp_path / ".new-busy" / "new" / "part").write_text("half, and more")
    write_atomically(tmp_path / "a.json", "whole")
    with new_folder(tmp_path / "folder"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {
        *names[1:],
        *("a.json", "a.json.1a1b2c3d.tmp", "folder", ".new-busy"),
    }
