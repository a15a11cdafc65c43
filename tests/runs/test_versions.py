import os
from importlib.metadata import PackageNotFoundError

import pytest

from attnjax.cli.main import main
from attnjax.runs.versions import machine


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
