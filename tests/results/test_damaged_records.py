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

from attnjax.config.sealed import sealed
from attnjax.errors import UserError
from attnjax.lab.cli.main import main
from attnjax.lab.results.lines import read_records, write
from attnjax.lab.results.record import Record
from attnjax.lab.runs.versions import Machine
from tests.runs.damage import FILE, contents, copied, resealed

ROOT = Path(__file__).parents[2]
NAME = "complexity"
WHOLE = ROOT / "records" / f"{NAME}.jsonl"
EVIL = "from pathlib import Path\nPath('executed').touch()\n"


@pytest.fixture
def records(tmp_path, monkeypatch) -> Path:
    """Records of one experiment, in a folder with programs that nobody wants to run."""
    for name in ("evil.py", "a.py", "complexity.py", "x.py"):
        (tmp_path / name).write_text(EVIL)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "records"
    folder.mkdir()
    shutil.copy(WHOLE, folder)
    return folder


def file(records: Path) -> Path:
    """The file of the experiment's records."""
    return records / WHOLE.name


def judged(records: Path, capsys) -> tuple[int, str, str]:
    """The exit code of `results`, what it prints, and what it says."""
    capsys.readouterr()
    code = main(["results", str(records)])
    printed = capsys.readouterr()
    assert "".join(printed).replace("\n", "").isprintable(), printed
    assert not list(records.parent.rglob("executed*"))
    return code, printed.out, printed.err


@pytest.mark.parametrize("part", range(4))
def test_damaged_records_are_a_sentence_or_harmless(records, capsys, part):
    whole = records.rename(records.with_name("whole"))
    for seed in range(30 * part, 30 * part + 30):
        draw = np.random.default_rng(seed)
        path = file(copied(whole, records))
        done = (resealed if seed % 3 else FILE[draw.integers(len(FILE))])(path, draw)
        before = contents(records.parent)
        code, _, said = judged(records, capsys)
        assert contents(records.parent) == before, done
        assert code in (0, 2), done
        assert code == 0 or said.count("\n") == 1, (done, said)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def changed(line: str, **values: Any) -> str:
    """Change keys of a line, and its digest."""
    content = json.loads(line) | values
    del content["digest"]
    return json.dumps(sealed(content))


def change_first(path: Path, **values: Any) -> Path:
    """Change keys of the first line of a file."""
    first, *others = lines(path)
    path.write_text("\n".join([changed(first, **values), *others]))
    return path


@pytest.mark.parametrize(
    "name",
    ["evil.py", "evil", "a", "x/../evil.py", "../evil.py", "/etc/evil.py", "complexity.py"],
)
def test_a_record_executes_no_file_that_it_names(records, capsys, name):
    every = [changed(line, experiment=name) for line in lines(file(records))]
    file(records).write_text("\n".join(every))
    assert judged(records, capsys)[0] == 2


def test_a_record_of_somebodys_own_experiment_is_left_out_and_named(records, capsys):
    first, before = lines(file(records))[0], judged(records, capsys)
    assert before[0] == 0
    for number, values in enumerate([{"experiment": "mine"}, {"setting": "mine"}]):
        (records / f"mine{number}.jsonl").write_text(changed(first, **values))
    code, printed, said = judged(records, capsys)
    assert code == 0
    assert "warning: mine does not come with attnjax: 1 of its records are left out" in said
    assert "warning: complexity --setting mine does not come with attnjax" in said
    assert printed == before[1]


def test_a_copy_of_a_record_counts_once(records, capsys):
    before, path = judged(records, capsys), file(records)
    shutil.copy(path, records / f"{NAME} (1).jsonl")
    path.write_text("\n".join(lines(path) * 2))
    assert judged(records, capsys) == before


def test_two_records_of_one_seed_are_both_named(records):
    path = file(records)
    first, *others = lines(path)
    path.write_text("\n".join([first, *others, changed(first, updates=1)]))
    places = f"{path}, line 1 and {path}, line {len(others) + 2}"
    with pytest.raises(UserError, match=f"{places} are the records of two runs"):
        read_records(records)


def test_lines_that_editors_and_version_control_leave_are_read(records):
    expected, path = read_records(records), file(records)
    path.write_text("\r\n\r\n".join(reversed(lines(path))))
    assert sorted(record.identity for record in read_records(records)) == sorted(
        record.identity for record in expected
    )
    text = path.read_text()
    name = "a line\u2028and\x85another"
    path.write_text(changed(lines(path)[0], vocabulary=name).replace("\\u2028", "\u2028"))
    assert [record.vocabulary for record in read_records(records)] == [name]
    path.write_text(f"<<<<<<< HEAD\n{text}\n=======\n{text}\n>>>>>>> other\n")
    with pytest.raises(UserError, match=f"{path}, line 1 is a mark of a merge conflict: keep the"):
        read_records(records)
    path.write_text(text + text[:100])
    with pytest.raises(UserError, match=r"line \d+ is damaged: it is not JSON"):
        read_records(records)


def test_a_record_of_many_numbers_is_read(records):
    path = file(records)
    metric = json.loads(lines(path)[0])["metrics"][0]
    many = [metric | {"name": f"n{number}"} for number in range(10_000)]
    path.write_text(changed(lines(path)[0], metrics=many))
    assert [len(record.metrics) for record in read_records(records)] == [10_000]


def test_files_of_one_record_are_read_and_not_written_again(records, capsys):
    """Earlier versions wrote these; a record is in the folder once, in either form."""
    expected, whole = judged(records, capsys), read_records(records)
    first, second, *others = lines(file(records))
    for line, record in zip([first, second], whole[:2], strict=True):
        old = records / NAME / record.variant / f"{record.identity[2]}.json"
        old.parent.mkdir(parents=True, exist_ok=True)
        old.write_text(json.dumps(json.loads(line), indent=1))
    file(records).write_text("\n".join([*others, ""]))
    assert judged(records, capsys) == expected
    assert write([replace(record, source=None) for record in whole], records) == []
    assert lines(file(records)) == others
    old = next(records.glob("*/*/*.json"))
    old.write_text(old.read_text().replace('"updates": ', '"updates": 1'))
    with pytest.raises(UserError, match=f"{old} is damaged: its content does not match"):
        read_records(records)


def record_of(path: Path) -> Record:
    return next(record for record in read_records(path.parent) if record.answers)


def big(size: int) -> str:
    program = zlib.compressobj(9)
    zeros = bytes(1 << 20)
    parts = [program.compress(zeros) for _ in range(size >> 20)]
    return base64.b64encode(b"".join([*parts, program.flush()])).decode()


def test_a_line_does_not_say_where_it_lies(records):
    change_first(file(records), source="/etc/passwd")
    with pytest.raises(UserError, match="a record does not say where it lies"):
        read_records(records)


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
    with pytest.raises(UserError, match=f"the record {harmed.source} is damaged: .*{said}"):
        harmed.measured({})


@pytest.mark.parametrize("kind", ["../../x", "/etc/x", "a/b", "<script>", "a\nb", "\x1b[2J", "`x`"])
def test_a_record_is_written_nowhere_else_and_is_no_program_of_a_page(tmp_path, kind):
    record = record_of(WHOLE)
    place = Machine(kind=kind, processor="", cores=1, xla_flags="")
    assert write([replace(record, machine=None)], tmp_path / "first")
    change_first(tmp_path / "first" / record.file_name, machine=asdict(place))
    with pytest.raises(UserError, match="machine|kind"):
        read_records(tmp_path / "first")
    if "/" in kind or not kind.isprintable():
        with pytest.raises(UserError, match="wants names of folders and of a file"):
            write([replace(record, machine=place)], tmp_path / "records")
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
    change_first(file(records), **values)
    with pytest.raises(UserError, match="is damaged, or another version of attnjax wrote it"):
        read_records(records)


def test_no_commit_changes_or_removes_a_line():
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git")
    for words in (["log", "--format="], ["diff", "HEAD"]):
        listed = subprocess.run(
            ["git", "-C", str(ROOT), *words, "--numstat", "--", "records/*.jsonl"],
            capture_output=True,
            text=True,
            check=True,
        )
        removed = [line for line in listed.stdout.splitlines() if line.split("\t")[1:2] != ["0"]]
        assert removed == []


def test_a_folder_of_records_that_cannot_be_made_is_a_sentence(records, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be made: File exists"):
        write(read_records(records), tmp_path / "file")


def test_hidden_files_are_no_records(records, capsys):
    """Notebooks and file systems leave copies whose names begin with a dot."""
    expected, path = judged(records, capsys), file(records)
    for folder in (records / ".ipynb_checkpoints", records / NAME / ".ipynb_checkpoints"):
        folder.mkdir(parents=True)
        (folder / path.name).write_text("{")
        (folder / "a.json").write_text("{")
    (records / f"._{path.name}").write_bytes(b"\0\5\26\7")
    (records / NAME / "variant").mkdir()
    (records / NAME / "variant" / "._a.json").write_bytes(b"\0\5\26\7")
    assert judged(records, capsys) == expected


@pytest.mark.parametrize("place", ["parameters", "memory"])
def test_a_number_that_no_machine_holds_is_a_sentence(records, capsys, place):
    content = json.loads(lines(file(records))[0])
    (content if place == "parameters" else content["machine"])[place] = 10**400
    change_first(file(records), **content)
    code, _, said = judged(records, capsys)
    assert code == 2
    assert place in said
