"""The tiny experiment, and what a command says of it when it fails."""

from pathlib import Path

from attnjax.lab.cli.main import main

TINY = str(Path(__file__).parents[1] / "tiny.py")


def sentence(capsys, *words: str, code: int = 2) -> str:
    """Return the sentence of a command that fails: one line, no traceback."""
    capsys.readouterr()
    assert main(list(words)) == code
    said = capsys.readouterr().err
    assert said.startswith("attnjax: ")
    assert said.count("\n") == 1, said
    return said
