import os
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from attnjax.lab.cli.main import main
from attnjax.lab.runs.versions import machine


def test_the_version_of_a_copy_that_is_not_installed(capsys, monkeypatch):
    def none(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("importlib.metadata.version", none)
    assert main(["list"]) == 0
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert "attnjax not installed" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system binds no process")
def test_a_machine_has_the_cores_that_the_process_may_use():
    """Equal bits are promised of as many cores: one core of two is another kind of machine."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        bound = machine()
    finally:
        os.sched_setaffinity(0, before)
    assert bound.cores == 1
    assert bound.kind.endswith("-1")
    assert machine().cores == len(before)


@pytest.mark.parametrize(
    ("flags", "units"),
    [("fpu amx_bf16 amx_tile", True), ("avx512f avx512_bf16", True), ("avx2 avx512f", False)],
)
def test_the_flags_of_a_cpu_say_whether_it_has_matrix_units(flags, units, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda _: True)  # elsewhere than on Linux, too
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: f"flags\t\t: {flags}\nbugs\t\t:\n")
    assert machine().matrix_units == units
