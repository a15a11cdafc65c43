"""A file that an option names is written as a shell would write it."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from attnjax.errors import UserError
from attnjax.lab.cli.main import main
from attnjax.lab.cli.named_file import check_named, write_named

WRITES = (
    "import sys; from pathlib import Path; from attnjax.lab.cli.named_file import write_named\n"
    "print('before'); write_named(Path(sys.argv[1]), 'naïve\\n'); print('behind')\n"
)


@pytest.fixture
def pipe(tmp_path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def written(pipe: Path, call) -> bytes:
    """Return what a call writes into a pipe."""
    thread = Thread(target=call)
    thread.start()
    content = pipe.read_bytes()
    thread.join()
    return content


def test_a_file_is_replaced_as_a_whole(tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("before")
    (tmp_path / "file").hardlink_to(kept)
    write_named(tmp_path / "file", "naïve\n")
    assert (tmp_path / "file").read_bytes() == "naïve\n".encode()
    assert kept.read_text() == "before", "a reader of the old file goes on reading it"


def test_a_pipe_stays_and_gets_the_text(pipe, tmp_path):
    long = "long\n" * 100_000
    assert written(pipe, lambda: write_named(pipe, long)) == long.encode()
    assert pipe.is_fifo()
    link = tmp_path / "link"
    link.symlink_to(pipe)
    assert written(pipe, lambda: write_named(link, "text")) == b"text"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []


def test_a_reader_that_leaves_is_named(pipe):
    def reads_a_line() -> None:
        with pipe.open() as file:
            file.readline()

    thread = Thread(target=reads_a_line)
    thread.start()
    with pytest.raises(UserError, match="pipe was not written to its end: its reader has closed"):
        write_named(pipe, "long\n" * 1_000_000)
    thread.join()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/stderr"])
def test_standard_output_by_another_name_is_written_on(tmp_path, name):
    """Where a shell has opened it as a file, a second opening would begin at its start."""
    with (tmp_path / "output").open("w") as file:
        command = [sys.executable, "-c", WRITES, name]
        subprocess.run(command, stdout=file, stderr=file, check=True, cwd=Path(__file__).parents[2])
    lines = (tmp_path / "output").read_text(encoding="utf-8").splitlines()
    assert lines == ["before", "naïve", "behind"]
    assert [path.name for path in tmp_path.iterdir()] == ["output"]


def test_a_device_stays(tmp_path):
    """Not /dev/null itself, which a fault would replace; a link to it shows the same."""
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    write_named(link, "text")
    assert link.is_symlink()
    assert Path(os.devnull).is_char_device()


def test_what_cannot_be_written_is_refused_at_once(tmp_path):
    with pytest.raises(UserError, match="is a folder; wanted a file to write"):
        check_named(tmp_path)
    with pytest.raises(UserError, match=r"there is no folder .*no for the file a"):
        check_named(tmp_path / "no" / "a")
    check_named(tmp_path / "a")


def test_answers_go_into_a_pipe(run, pipe):
    words = ["evaluate", str(run), "--split", "valid", "--answers", str(pipe)]
    assert written(pipe, lambda: main(words)).count(b"\n") == 8
    assert pipe.is_fifo()
