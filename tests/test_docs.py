"""What the documentation says can be done as it says."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest

from attnjax.config.parts import check_names
from attnjax.lab.cli.main import main
from attnjax.lab.runs.catalog import catalog

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "attnjax"
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG")), *PAGES]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


# tests/test_logging_page.py runs that page's code, through stand-ins for the trackers
WITH_CODE = [page for page in PAGES if blocks(page, "python") and page.stem != "logging"]
SLOW = ("attention", "measure", "task")  # their code takes seconds


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long if page.stem in SLOW else []) for page in WITH_CODE],
    ids=lambda page: page.stem,
)
def test_the_code_on_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """All blocks of a page are one program, in their order, and could stand in an experiment file.

    There the name of a shipped part would be refused.
    """
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), namespace)
    check_names(
        value for value in namespace.values() if isinstance(value, type) and is_dataclass(value)
    )


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_is_there(page: Path):
    links = re.findall(r"\]\((?!http|#)([^)#]+)\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.stem)
def test_every_section_that_a_page_names_is_there(page: Path):
    for name, anchor in re.findall(r"\]\((?!http)([^)#]*)#([^)]+)\)", page.read_text()):
        text = (page.parent / name if name else page).read_text()
        titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
        slugs = [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles]
        assert anchor in slugs


def test_every_path_on_the_page_of_the_architecture_is_there():
    """Of its tree, the first block, and of its sentences."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    tree = re.search(r"(?:^ {4}.*\n)+", text, re.MULTILINE)
    assert tree is not None
    above, named = {0: ROOT}, list[Path]()
    for line in tree[0].splitlines():
        blanks = len(line) - len(line.lstrip())
        words = re.split(" {2,}", line.strip())
        folders = [above[blanks - 4] / word for word in words if word.endswith("/")]
        above[blanks] = folders[0]
        named += folders
    assert len(named) > 25
    assert not [path for path in named if not path.is_dir()]
    said = re.findall(r"`([a-z_]+/[\w/.]+)`", text)
    assert len(said) > 30
    assert not [path for path in said if not any((at / path).exists() for at in (ROOT, PACKAGE))]


@pytest.mark.parametrize("page", ["equations", "measures"])
def test_a_page_that_is_made_of_docstrings_has_them(page: str):
    program = ROOT / "docs" / "programs" / f"{page}.py"
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert (ROOT / "docs" / f"{page}.md").read_text() == result.stdout, "run `make docs`"


@pytest.mark.long
def test_the_site_is_built_without_a_dead_link(tmp_path: Path):
    """Every page is in its navigation; a source file that a page links to is a page of the site."""
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    score = tmp_path / "source" / "attnjax" / "attention" / "score" / "base.py" / "index.html"
    assert "scaled_dot" in score.read_text()
    assert "programs" not in {path.name for path in tmp_path.iterdir()}
    first = (tmp_path / "index.html").read_text()
    assert '<h2 id="two-commands">' in first, "README is the first page, rendered"
    assert 'href="first-ablation/"' in first
    assert re.search(r"takes\s+\w+( \w+)? minutes? on two", first), "one sentence"
    assert "Notebook: a trained translator" in first
    for page in ("contributing", "changelog"):
        assert "<h1 id=" in (tmp_path / page / "index.html").read_text()


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
    monkeypatch.setattr("attnjax.lab.sweeps.dry_run._corpus", lambda task: None)
    monkeypatch.chdir(tmp_path)
    assert main(["run", *shlex.split(words), "--dry-run"]) == 0, capsys.readouterr().err
