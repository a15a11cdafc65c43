"""What every test stands on: eight virtual devices, strict shapes, one cache of compilations.

The environment is set before JAX is imported, which reads it once; programs that a test starts
inherit it.
"""

import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # JAX_PLATFORMS=cuda runs the same tests on a GPU
os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
)
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
if os.environ["JAX_PLATFORMS"] == "cpu":  # a third of the time; `make test-all` leaves them all on
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Most of the time goes into compiling the same programs as in the run before.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compilations")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")  # a fifth of a second run

import fcntl
import gc
import shutil
from collections.abc import Iterator

import hypothesis
import jax
import pytest

from tests.programs import pytest_addoption, pytest_configure  # noqa: F401, hooks of pytest
from tests.shape_check import check_shapes

# Arguments and results have the shapes that their annotations say: checked in tests only.
check_shapes(["attnjax.attention", "attnjax.nn", "attnjax.models", "attnjax.decoding"])

# JAX keeps most of what it has traced: going through all of it took a tenth of the time.
gc.set_threshold(50_000, 20, 20)

# A compilation takes longer than any deadline; the number of examples is what a minute allows.
hypothesis.settings.register_profile("attnjax", deadline=None, max_examples=20)
hypothesis.settings.register_profile(
    "attnjax-ci", parent=hypothesis.settings.get_profile("attnjax"), derandomize=True, database=None
)
hypothesis.settings.load_profile("attnjax-ci" if os.environ.get("CI") else "attnjax")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests that passed have recorded: `record_property("shown", "a sentence")`."""
    for report in terminalreporter.getreports("passed"):
        for name, sentence in report.user_properties:
            if name == "shown":
                terminalreporter.write_line(str(sentence))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real corpora."""
    folder = os.environ.get("ATTNJAX_DATA")
    if not folder:
        pytest.skip("needs real corpora: set ATTNJAX_DATA to the folder that holds them")
    return Path(folder)


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished runs of tests/tiny.py: to be read, and copied to be changed.

    They are trained once for all workers; each has a copy.
    """
    own = tmp_path_factory.mktemp("runs")
    base = tmp_path_factory.getbasetemp()
    # the folders of workers stand side by side in that of the whole test run
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tiny-runs"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            _train_tiny(own / "trained")
            (own / "trained").rename(shared)
    return shutil.copytree(shared, own / "copied")


def _train_tiny(folder: Path) -> None:
    from attnjax.lab.cli.main import main

    assert main(["run", str(Path(__file__).parent / "tiny.py"), "--runs", str(folder)]) == 0


@pytest.fixture
def float64() -> Iterator[None]:
    """Computes in float64 within the test."""
    with jax.enable_x64(True):
        yield
