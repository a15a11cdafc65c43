"""What the documentation says can be done as it says."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from attnjax.cli.catalog import catalog
from attnjax.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


WITH_CODE = [page for page in PAGES if blocks(page, "python")]
SLOW = ("attention", "measure", "task")  # their code takes seconds


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long if page.stem in SLOW else []) for page in WITH_CODE],
    ids=lambda page: page.stem,
)
def test_the_code_on_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """All blocks of a page are one program, in their order."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_is_there(page: Path):
    links = re.findall(r"\]\((?!http|#)([^)#]+)\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def commands() -> list[str]:
    """Every `attnjax run` of a shipped experiment that says more than its name."""
    pages = [*DOCUMENTS, *(ROOT / "experiments").glob("*.py")]
    text = re.sub(r"\\\n *", "", "\n".join(page.read_text() for page in pages))
    shipped = "|".join(entry.name for entry in catalog())
    # a remark stands after three blanks or after a #
    command = rf"^ +attnjax run ((?:{shipped})(?: [^\s#]+)+)(?: {{3}}| *#|$)"
    return sorted(set(re.findall(command, text, re.MULTILINE)))


@pytest.mark.parametrize("words", commands())
def test_every_run_that_is_written_down_can_be_planned(words, tmp_path, monkeypatch, capsys):
    """Its variants, settings and overrides are there; nothing is read, compiled or trained."""
    monkeypatch.setattr("attnjax.runs.dry_run._corpus", lambda task: None)
    monkeypatch.chdir(tmp_path)
    assert main(["run", *shlex.split(words), "--dry-run"]) == 0, capsys.readouterr().err
