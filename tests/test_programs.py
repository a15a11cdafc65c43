"""The count of compiled programs: what counts, over several processes, and when a run fails."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from tests import programs
from tests.programs import Cost, ProgramCount


class Options:
    """What a count asks of pytest's configuration."""

    def __init__(self, **options: Any) -> None:
        self.options = {"markexpr": "not long", "programs": False, **options}

    def getoption(self, name: str) -> Any:
        return self.options[name]


@pytest.fixture
def count() -> Iterator[ProgramCount]:
    found = ProgramCount(Options())  # pyright: ignore[reportArgumentType]
    yield found
    found.pytest_unconfigure()


def test_a_program_counts_once_for_the_file_that_asks_for_it(count):
    def fresh():
        return jax.jit(lambda x: x * 3 + 1)

    x, step = np.ones(3), fresh()
    count.file = "a.py"
    step(x)
    assert count.costs["a.py"].programs == 1
    assert count.costs["a.py"].compiling > 0
    count.file = "b.py"
    step(x)
    assert "b.py" not in count.costs, "it was compiled before"
    # the cache on disk has the executable: it counts all the same
    fresh()(x)
    assert count.costs["b.py"].programs == 1


def test_the_counts_of_workers_are_added_up(count):
    worker = ProgramCount(Options())  # pyright: ignore[reportArgumentType]
    worker.pytest_unconfigure()
    worker.config.workeroutput = {}  # pyright: ignore[reportAttributeAccessIssue]
    worker.add("a.py", Cost(3, 0.5, 2.0))
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    worker.pytest_sessionfinish(session)
    count.add("a.py", Cost(1, 0.25, 1.0))
    for output in (vars(worker.config), {}):  # one crashed, and has said nothing
        count.pytest_testnodedown(SimpleNamespace(**output))
    assert count.costs == {"a.py": Cost(4, 0.75, 3.0)}
    printed: list[str] = []
    count.pytest_terminal_summary(SimpleNamespace(write_line=printed.append))
    assert printed == ["4 XLA programs compiled, 1 s"]


@pytest.mark.parametrize(
    ("in_ci", "markers", "failed", "fails"),
    [
        (True, "not long", False, True),
        (False, "not long", False, False),
        (True, "", False, False),
        (True, "not long", True, False),
    ],
    ids=["too many", "not in CI", "slow tests too", "failed already"],
)
def test_too_many_programs_fail_in_ci(count, monkeypatch, in_ci, markers, failed, fails):
    monkeypatch.setattr(programs, "MOST_PROGRAMS", 10)
    monkeypatch.setenv("CI", "true" if in_ci else "")
    count.config.options["markexpr"] = markers
    before = pytest.ExitCode.INTERRUPTED if failed else pytest.ExitCode.OK
    for number, expected in ((10, before), (1, pytest.ExitCode.TESTS_FAILED if fails else before)):
        count.add("a.py", Cost(number))
        session: Any = SimpleNamespace(exitstatus=before)
        count.pytest_sessionfinish(session)
        assert session.exitstatus == expected
