"""The package as somebody else gets it: a wheel, in a Python of its own, far from the checkout."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from attnjax.lab.runs.catalog import RERUNS

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.long


def run(*command: str | Path, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs' folder of a fresh environment with the wheel, and our own for what it needs."""
    home = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", home, folder=home)
    python = home / "bin" / "python"
    install = ("-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", python, wheel)
    run(sys.executable, *install, folder=home)
    packages = run(
        python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=home
    )
    # A path named here is searched; its own .pth files, the checkout's among them, are not read.
    Path(packages.strip(), "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_the_wheel_carries_what_belongs_to_it_and_no_more(wheel: Path):
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    records = [*(ROOT / "records").glob("*.jsonl")]
    files = [*(ROOT / "experiments").glob("*.py"), ROOT / "experiments" / RERUNS, *records]
    shipped = {f"attnjax/{path.relative_to(ROOT).as_posix()}" for path in files}
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "attnjax").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert records
    assert {name for name in names if ".dist-info/" not in name} == shipped | package
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    programs = [name for name in names if name.endswith(".py")]
    absent = re.compile(rb"^\s*(import|from) (torch|ctranslate2|yaml)\b", re.MULTILINE)
    assert not [name for name in programs if absent.search(archive.read(name))]


def test_it_runs_from_an_empty_folder(installed: Path, tmp_path: Path):
    where = run(
        installed / "python", "-c", "import attnjax; print(attnjax.__file__)", folder=tmp_path
    )
    assert Path(where.strip()).is_relative_to(installed.parent)
    program = installed / "attnjax"
    listed = run(program, "list", folder=tmp_path)
    for path in (ROOT / "experiments").glob("*.py"):
        assert path.stem in listed
    assert "under 1 minute" in listed, "the times of reruns are shipped, too"
    shown = run(program, "show", "scaling_and_heads", folder=tmp_path)
    assert "ScaledDot" in shown
    assert "parameters: " in shown
    assert not list(tmp_path.iterdir()), "looking at an experiment leaves nothing behind"
    verdicts = run(program, "results", folder=tmp_path)
    assert "beside their printed numbers" in verdicts
    judged = set(re.findall(r"^(\S+(?: --setting \S+)?)  ", verdicts, re.MULTILINE))
    recorded = {path.stem for path in (ROOT / "records").glob("*.jsonl")}
    assert recorded == {name.replace(" --setting ", "-") for name in judged - {"experiment"}}


def test_an_experiment_runs_in_an_empty_folder(installed: Path, tmp_path: Path):
    """The one of seconds; its table and its page are there."""
    printed = run(installed / "attnjax", "run", "nadaraya_watson", folder=tmp_path)
    assert "✓ reproduced" in printed
    assert (tmp_path / "runs" / "nadaraya_watson" / "report.html").is_file()
