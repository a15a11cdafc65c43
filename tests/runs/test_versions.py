from importlib.metadata import PackageNotFoundError

import pytest

from attnjax.cli.main import main


def test_the_version_of_a_copy_that_is_not_installed(capsys, monkeypatch):
    def none(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("importlib.metadata.version", none)
    assert main(["list"]) == 0
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert "attnjax not installed" in capsys.readouterr().out
