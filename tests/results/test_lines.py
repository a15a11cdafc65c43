"""Lines of records are added whole: by two processes at once, and by one that is killed."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attnjax.lab.results.lines import read_records, write
from attnjax.lab.results.record import Record

ROOT = Path(__file__).parents[2]
EACH = 60
ADDS = """
import sys
from dataclasses import replace
from pathlib import Path
from attnjax.lab.results.lines import read_records, write
first, to, start, count = sys.argv[1:]
record = replace(read_records(first)[0], source=None)
print("begins", flush=True)
for seed in range(int(start), int(start) + int(count)):
    write([replace(record, seed=seed)], Path(to))
    print(seed, flush=True)
"""


@pytest.fixture
def first(tmp_path) -> Path:
    """The folder of one record."""
    (tmp_path / "first").mkdir()
    line = (ROOT / "records" / "complexity.jsonl").read_bytes().splitlines()[0]
    (tmp_path / "first" / "complexity.jsonl").write_bytes(line)
    return tmp_path / "first"


def adding(first: Path, to: Path, start: int, count: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", ADDS, str(first), str(to), str(start), str(count)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def seeds(to: Path) -> list[int]:
    return sorted(record.seed for record in read_records(to))


def test_two_processes_lose_no_line(first, tmp_path):
    both = [adding(first, tmp_path / "to", start, EACH) for start in (0, EACH)]
    for process in both:
        process.communicate()
    assert seeds(tmp_path / "to") == [*range(2 * EACH)]
    text = (tmp_path / "to" / "complexity.jsonl").read_text()
    found: list[Record] = read_records(tmp_path / "to")
    write([replace(record, source=None) for record in found], tmp_path / "again")
    assert (tmp_path / "again" / "complexity.jsonl").read_text() == text, "sorted by identity"


def test_a_process_that_ends_before_the_file_is_replaced_changes_nothing(
    first, tmp_path, monkeypatch
):
    to, (record,) = tmp_path / "to", read_records(first)
    write([record], to)
    before = (to / "complexity.jsonl").read_bytes()

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", end)
    with pytest.raises(KeyboardInterrupt):
        write([replace(record, seed=1)], to)
    assert (to / "complexity.jsonl").read_bytes() == before
    assert [path.name for path in to.glob("[!.]*")] == ["complexity.jsonl"]


def test_a_killed_process_leaves_whole_lines(first, tmp_path):
    to, known = tmp_path / "to", 0
    for lines in (1, 3, 7, 12, 20):
        with adding(first, to, known, 10_000) as process:
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(lines + 1)]
            process.kill()
        found = seeds(to)
        assert found == [*range(len(found))]
        assert len(found) > int(said[-1])
        known = len(found)
    with adding(first, to, known, 1) as process:
        process.communicate()
    assert seeds(to) == [*range(known + 1)]
    assert [path.name for path in to.glob("*.jsonl")] == ["complexity.jsonl"]
