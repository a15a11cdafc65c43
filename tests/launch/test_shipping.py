"""The experiment file and the changes of the checkout that go with a job."""

import subprocess
from pathlib import Path

import pytest

from launch.shipping import CHANGES, FOLDERS, METADATA, changes, copy_for, record, ship, ship_code


def git(root: Path, *words: str) -> str:
    names = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    done = subprocess.run(
        ["git", "-C", str(root), *names, *words], check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one commit."""
    root = tmp_path / "checkout"
    (root / "attnjax").mkdir(parents=True)
    (root / "attnjax" / "score.py").write_text("one = 1\n")
    (root / "README.md").write_text("read me\n")
    git(tmp_path, "init", "-q", str(root))
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def test_the_patch_makes_the_same_code_of_the_commit(checkout, tmp_path):
    (checkout / "attnjax" / "score.py").write_text("one = 2\n")
    (checkout / "attnjax" / "align.py").write_text("new = 3\n")
    (checkout / ".env").write_text("KEY=secret\n")
    head, _, patch = changes(checkout).partition("\n")
    assert head == f"commit {git(checkout, 'rev-parse', 'HEAD').strip()}"
    assert "secret" not in patch
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(checkout), str(other))
    subprocess.run(["git", "-C", str(other), "apply"], input=patch, text=True, check=True)
    assert (other / "attnjax" / "score.py").read_text() == "one = 2\n"
    assert (other / "attnjax" / "align.py").read_text() == "new = 3\n"
    assert git(checkout, "diff", "--cached") == "", "the user's index is not touched"


def test_a_new_file_that_is_no_code_is_not_recorded(checkout):
    sites = checkout / "launch" / "sites"
    sites.mkdir(parents=True)
    for path in (sites / "mine.toml", checkout / "attnjax" / ".env", checkout / "attnjax" / "key"):
        path.write_text("lines = ['export KEY=aaa1']\n")
    assert changes(checkout).count("\n") == 1
    git(checkout, "add", "--force", ".")
    git(checkout, "commit", "-qm", "sites")
    (sites / "mine.toml").write_text("lines = ['export KEY=aaa2']\n")
    assert "aaa" not in changes(checkout)


def test_the_code_that_goes_with_a_job_is_all_that_git_has_and_nothing_else(tmp_path):
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        pytest.skip("needs a checkout of git")
    (tmp_path / "code" / "old.py").mkdir(parents=True)
    ship_code(tmp_path / "code")
    shipped = {
        str(path.relative_to(tmp_path / "code"))
        for path in (tmp_path / "code").rglob("*")
        if path.is_file()
    }
    known = git(root, "ls-files", *FOLDERS).splitlines()
    assert {path for path in known if (root / path).exists()} <= shipped
    assert {"pyproject.toml", "constraints.txt", *METADATA, CHANGES} <= shipped
    assert not {path for path in shipped if path.startswith(("launch", "tests", ".", "old"))}


def test_without_changes_the_commit_alone_is_recorded(checkout, tmp_path):
    patch = changes(checkout)
    assert patch.count("\n") == 1
    record(patch, [tmp_path / "runs" / "seed-0"])
    assert (tmp_path / "runs" / "seed-0" / CHANGES).read_text() == patch


def test_a_folder_without_git_has_no_record(tmp_path):
    (tmp_path / "attnjax").mkdir()
    assert changes(tmp_path / "attnjax") == ""
    record("", [tmp_path / "run"])
    assert not (tmp_path / "run").exists()


def test_each_text_has_a_copy_of_its_own_under_the_same_name(tmp_path):
    copies = {text: copy_for(text, "tiny", tmp_path) for text in ("one = 1", "one = 2")}
    for text, copy in copies.items():
        ship(text, copy)
    assert [copy.read_text() for copy in copies.values()] == list(copies)
    assert {copy.name for copy in copies.values()} == {"tiny.py"}
