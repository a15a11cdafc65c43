"""Count the XLA programs that a test run compiles: half of its time goes there.

A program counts when JAX asks for its executable, compiled now or read from the cache on disk, so
that the number does not depend on earlier runs. Programs of processes that a test starts are not
counted. `pytest --programs` prints the count of each file.
"""

import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import pytest

MOST_PROGRAMS = 5_000
"""Above this number of programs, `make test` fails in CI."""

COMPILED = "/jax/core/compile/backend_compile_duration"
"""The event of JAX for each program, whether its cache has the executable or not."""

BETWEEN_FILES = "collection"


class Cost(NamedTuple):
    """Compiled programs, seconds of compiling them, and seconds of CPU time of all."""

    programs: int = 0
    compiling: float = 0.0
    cpu: float = 0.0

    def plus(self, other: "Cost") -> "Cost":
        """Return the sum of two costs."""
        return Cost(*(one + more for one, more in zip(self, other, strict=True)))


class ProgramCount:
    """A pytest plugin that adds up the costs of test files, over all worker processes."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.costs, self.file = config, dict[str, Cost](), BETWEEN_FILES
        jax.monitoring.register_event_duration_secs_listener(self.record)

    def record(self, event: str, seconds: float, **_: Any) -> None:
        """Count a program for the test file that runs now."""
        if event == COMPILED:
            self.add(self.file, Cost(programs=1, compiling=seconds))

    def add(self, file: str, cost: Cost) -> None:
        """Add a cost to those of a test file."""
        self.costs[file] = self.costs.get(file, Cost()).plus(cost)

    @property
    def total(self) -> Cost:
        """The cost of all test files."""
        total = Cost()
        for cost in self.costs.values():
            total = total.plus(cost)
        return total

    @property
    def too_many(self) -> bool:
        """Whether `make test` in CI compiled more programs than it may."""
        usual = self.config.getoption("markexpr") == "not long"
        return usual and bool(os.environ.get("CI")) and self.total.programs > MOST_PROGRAMS

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Name the test file that programs are counted for, and take its CPU time."""
        self.file, start = item.location[0], time.process_time()
        try:
            return (yield)
        finally:
            self.add(self.file, Cost(cpu=time.process_time() - start))
            self.file = BETWEEN_FILES

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the costs of a worker of xdist that has finished."""
        for file, cost in getattr(node, "workeroutput", {}).get("costs", {}).items():
            self.add(file, Cost(*cost))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand a worker's costs to the main process; fail there if programs are too many."""
        if hasattr(self.config, "workeroutput"):
            costs = {file: tuple(cost) for file, cost in self.costs.items()}
            self.config.workeroutput["costs"] = costs
        elif self.too_many and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the number of programs, by file if `--programs` asks for it."""
        if self.config.getoption("programs"):
            for file, cost in sorted(self.costs.items(), key=lambda item: item[1]):
                terminalreporter.write_line(
                    f"{cost.programs:6,} programs {cost.compiling:6.1f} s"
                    f" of {cost.cpu:6.1f} s CPU  {file}"
                )
        total = self.total
        terminalreporter.write_line(
            f"{total.programs:,} XLA programs compiled, {total.compiling:.0f} s"
        )
        if self.too_many:
            terminalreporter.write_line(f"More than {MOST_PROGRAMS:,}: see `pytest --programs`.")

    def pytest_unconfigure(self) -> None:
        """Stop counting."""
        jax.monitoring.unregister_event_duration_listener(self.record)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--programs`."""
    parser.addoption(
        "--programs", action="store_true", help="print the compiled XLA programs of each test file"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Count the programs of this process."""
    config.pluginmanager.register(ProgramCount(config))
