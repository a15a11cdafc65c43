"""Records that are damaged, or that somebody else has made: a sentence, or harmless."""

import base64
import json
import shutil
import subprocess
import zlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnjax.cli.main import main
from attnjax.errors import UserError
from attnjax.results.read import read_file, read_records, write
from attnjax.results.record import Record
from attnjax.runs.json_files import read_sealed, write_sealed
from attnjax.runs.versions import Machine
from tests.runs.damage import FILE, contents, copied, resealed

ROOT = Path(__file__).parents[2]
NAME = "complexity"
WHOLE = ROOT / "records" / NAME
EVIL = "from pathlib import Path\nPath('executed').touch()\n"


@pytest.fixture
def records(tmp_path, monkeypatch) -> Path:
    """Records of one experiment, in a folder with programs that nobody wants to run."""
    for name in ("evil.py", "a.py", "complexity.py", "x.py"):
        (tmp_path / name).write_text(EVIL)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "records"
    shutil.copytree(WHOLE, folder / NAME)
    return folder


def one(records: Path) -> Path:
    """A record that is of no other run."""
    return sorted(records.glob("*/*/*.json"))[0]


def judged(records: Path, capsys) -> tuple[int, str, str]:
    """The exit code of `results`, what it prints, and the page."""
    page = records.parent / "page.md"
    page.unlink(missing_ok=True)
    capsys.readouterr()
    code = main(["results", str(records), "--page", str(page)])
    printed = "".join(capsys.readouterr())
    assert printed.replace("\n", "").isprintable(), printed
    assert not list(records.parent.rglob("executed*"))
    return code, printed, page.read_text() if page.exists() else ""


@pytest.mark.parametrize("part", range(4))
def test_damaged_records_are_a_sentence_or_harmless(records, capsys, part):
    whole = records.rename(records.with_name("whole"))
    for seed in range(30 * part, 30 * part + 30):
        draw = np.random.default_rng(seed)
        path = one(copied(whole, records))
        done = (resealed if seed % 3 else FILE[draw.integers(len(FILE))])(path, draw)
        before = contents(records.parent)
        code, printed, page = judged(records, capsys)
        assert without_page(contents(records.parent)) == without_page(before), done
        assert code in (0, 2), done
        assert code == 0 or printed.count("\n") == 1, (done, printed)
        assert "<script" not in page, done


def without_page(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files but the page and its pictures."""
    return {name: text for name, text in files.items() if not name.startswith("page")}


def changed(path: Path, **values: Any) -> Path:
    """Change keys of a record, and its digest; it moves to its own place."""
    content = read_sealed(path) | values
    write_sealed(path, content)
    return path


@pytest.mark.parametrize(
    "name",
    ["evil.py", "evil", "a", "x/../evil.py", "../evil.py", "/etc/evil.py", "complexity.py"],
)
def test_a_record_executes_no_file_that_it_names(records, capsys, name):
    for path in records.glob("*/*/*.json"):
        changed(path, experiment=name)
    assert judged(records, capsys)[0] == 2


def test_a_record_of_somebodys_own_experiment_is_left_out_and_named(records, capsys):
    first, before = one(records), judged(records, capsys)
    assert before[0] == 0
    for number, values in enumerate([{"experiment": "mine"}, {"setting": "mine"}]):
        folder = records / f"mine{number}" / "variant"
        folder.mkdir(parents=True)
        changed(Path(shutil.copy(first, folder)), **values)
    code, printed, page = judged(records, capsys)
    assert code == 0
    assert "warning: mine does not come with attnjax: 1 of its records are left out" in printed
    assert "warning: complexity --setting mine does not come with attnjax" in printed
    assert page == before[2]


def test_a_copy_of_a_record_counts_once(records, capsys):
    before = judged(records, capsys)
    shutil.copytree(records / NAME, records / "copy")
    shutil.copy(one(records), one(records).with_name("again.json"))
    assert judged(records, capsys) == before


def test_two_records_of_one_seed_are_both_named(records):
    other = one(records).with_name("other.json")
    shutil.copy(one(records), other)
    changed(other, updates=1)
    first, second = sorted([one(records), other])
    with pytest.raises(UserError, match=f"{first} and {second} are the records of two runs"):
        read_records(records)


def record_of(records: Path) -> Record:
    return next(
        record for path in sorted(records.rglob("*.json")) if (record := read_file(path)).answers
    )


def big(size: int) -> str:
    program = zlib.compressobj(9)
    zeros = bytes(1 << 20)
    parts = [program.compress(zeros) for _ in range(size >> 20)]
    return base64.b64encode(b"".join([*parts, program.flush()])).decode()


def test_a_file_does_not_say_where_it_lies(records):
    with pytest.raises(UserError, match="a record does not say where it lies"):
        read_file(changed(one(records), source="/etc/passwd"))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"statistics": "!"}, "an array does not unpack"),
        ({"statistics": base64.b64encode(b"x" * 40).decode()}, "an array does not unpack"),
        ({"statistics": ""}, "an array does not unpack"),
        ({"statistics": big(1 << 26)}, "does not unpack to numbers of the shape"),
        ({"shape": (1, 1)}, "does not unpack to numbers of the shape"),
        ({"shape": (2**31 - 1, 2**31 - 1)}, "has more than"),
        ({"shape": (0, 1)}, "does not unpack to numbers of the shape"),
        ({"lengths": "eJw="}, "an array does not unpack"),
        ({"metric": {"type": "attnjax.attention.score.Dot"}}, "is not a metric"),
    ],
)
def test_answers_that_do_not_unpack_are_a_sentence(values, said):
    record = record_of(WHOLE)
    assert record.answers is not None
    harmed = replace(record, answers=replace(record.answers, **values))
    with pytest.raises(UserError, match=f"the record {harmed.path()} is damaged: .*{said}"):
        harmed.measured({})


@pytest.mark.parametrize("kind", ["../../x", "/etc/x", "a/b", "<script>", "a\nb", "\x1b[2J", "`x`"])
def test_a_record_is_written_nowhere_else_and_is_no_program_of_a_page(tmp_path, kind):
    record = record_of(WHOLE)
    place = Machine(kind=kind, processor="", cores=1, xla_flags="")
    path = write(replace(record, machine=None), tmp_path)
    assert path is not None
    changed(path, machine=asdict(place))
    with pytest.raises(UserError, match="machine|kind"):
        read_file(path)
    path.unlink()
    if "/" in kind or not kind.isprintable():
        with pytest.raises(UserError, match="wants names of folders and of a file"):
            write(replace(record, machine=place), tmp_path / "records")
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize(
    "values",
    [
        {"date": "<script>alert(1)</script>"},
        {"date": "2026-02-30"},
        {"key": "../../x"},
        {"key": ""},
        {"code": {"attnjax": {"digest": "0", "commit": "<script>"}}},
        {"variant": "../x"},
        {"setting": "a/b"},
        {"tied": True, "tuned": {"rate": "../x"}},
        {"tied": True, "tuned": {"rate": 10**400}},
        {"minutes": {"train": 10**400}},
        {"minutes": {"train": -1}},
        {"seed": 10**400},
        {"epochs": 10**400},
    ],
    ids=lambda values: json.dumps(values)[:40],
)
def test_names_and_numbers_are_checked_where_a_record_is_read(records, values):
    with pytest.raises(UserError, match="is damaged, or another version of attnjax wrote it"):
        read_file(changed(one(records), **values))


def test_no_commit_changes_or_removes_a_record():
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git")
    words = ["git", "-C", str(ROOT), "log", "--diff-filter=MDR", "--name-only", "--format="]
    changed = subprocess.run([*words, "--", "records"], capture_output=True, text=True, check=True)
    assert changed.stdout.split() == []
    unstaged = subprocess.run(
        [
            "git",
            "-C",
            str(ROOT),
            "diff",
            "--diff-filter=MD",
            "--name-only",
            "HEAD",
            "--",
            "records",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert unstaged.stdout.split() == []


def test_a_folder_of_records_that_cannot_be_made_is_a_sentence(records, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be made: Not a directory"):
        write(read_file(one(records)), tmp_path / "file")


def test_hidden_files_are_no_records(records, capsys):
    """Notebooks and file systems leave copies whose names begin with a dot."""
    expected, path = judged(records, capsys), one(records)
    (path.parent / ".ipynb_checkpoints").mkdir()
    shutil.copy(path, path.parent / ".ipynb_checkpoints" / path.name)
    hidden = shutil.copytree(path.parent, path.parent.with_name(".copy"))
    (hidden / path.name).write_text("{")
    (path.parent / f"._{path.name}").write_bytes(b"\0\5\26\7")
    assert judged(records, capsys) == expected


@pytest.mark.parametrize("place", ["parameters", "memory"])
def test_a_number_that_no_machine_holds_is_a_sentence(records, capsys, place):
    path = one(records)
    content = read_sealed(path)
    (content if place == "parameters" else content["machine"])[place] = 10**400
    write_sealed(path, content)
    code, printed, _ = judged(records, capsys)
    assert code == 2
    assert place in printed
