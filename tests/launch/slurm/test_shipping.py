"""The experiment file and the changes of the checkout that go with a job."""

import shutil
import subprocess
from pathlib import Path

import pytest

from attnjax.experiment.load import ExperimentFile, load
from launch.slurm.shipping import CHANGES, changes, copy_for, record, ship


def git(root: Path, *words: str) -> str:
    names = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    done = subprocess.run(
        ["git", "-C", str(root), *names, *words], check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a checkout with one commit."""
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
        path.write_text("lines = ['export KEY=sesame']\n")
    assert changes(checkout).count("\n") == 1
    git(checkout, "add", "--force", ".")
    git(checkout, "commit", "-qm", "sites")
    (sites / "mine.toml").write_text("lines = ['export KEY=open sesame']\n")
    assert "sesame" not in changes(checkout)


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


def test_a_record_replaces_a_link_and_does_not_follow_it(tmp_path):
    """A folder of runs may be somebody else's."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    run, copy = tmp_path / "run", tmp_path / "copies" / "tiny.py"
    for link in (run / CHANGES, copy):
        link.parent.mkdir()
        link.symlink_to(precious)
    record("commit 1\n", [run])
    ship(experiment(tmp_path / "mine"), copy)
    assert precious.read_text() == "mine"
    assert (run / CHANGES).read_text() == "commit 1\n"
    assert copy.read_text() == TEXT


TEXT = """
from attnjax.data import Copy
from attnjax.experiment import Experiment
from attnjax.models import Transformer
from mine import WIDTH
from parts.deeper import HEADS

experiment = Experiment(task=Copy(), model=Transformer(width=WIDTH * HEADS))
"""


def experiment(folder: Path, width: int = 8) -> ExperimentFile:
    """Write and load an experiment file that imports modules beside it."""
    (folder / "parts").mkdir(parents=True)
    (folder / "mine.py").write_text(f"WIDTH = {width}\n")
    (folder / "parts" / "deeper.py").write_text("HEADS = 2\n")
    (folder / "other.py").write_text("KEY = 'secret'\n")
    (folder / "tiny.py").write_text(TEXT)
    return load(folder / "tiny.py")


def test_the_modules_beside_an_experiment_file_go_with_it(tmp_path):
    loaded = experiment(tmp_path / "mine")
    ship(loaded, tmp_path / "copies" / "tiny.py")
    shutil.rmtree(tmp_path / "mine")
    copy = load(tmp_path / "copies" / "tiny.py")
    assert copy.ablation.base.model.width == 16  # pyright: ignore
    assert copy.imported == loaded.imported
    assert not (tmp_path / "copies" / "other.py").exists()


def test_modules_elsewhere_on_the_path_stay_there(tmp_path, monkeypatch):
    loaded = experiment(tmp_path / "mine")
    for name in ("mine.py", "parts"):
        (tmp_path / "mine" / name).rename(tmp_path / name)
    monkeypatch.syspath_prepend(tmp_path)
    loaded = load(tmp_path / "mine" / "tiny.py")
    assert "../mine.py" in loaded.imported
    ship(loaded, tmp_path / "copies" / "tiny.py")
    assert [path.name for path in (tmp_path / "copies").iterdir()] == ["tiny.py"]


def test_each_text_has_a_copy_of_its_own_under_the_same_name(tmp_path):
    files = [experiment(tmp_path / str(width), width) for width in (8, 24)]
    first, second = (copy_for(loaded, tmp_path) for loaded in files)
    assert first != second, "a module differs"
    assert first.name == second.name == "tiny.py"
    (tmp_path / "8" / "tiny.py").write_text(TEXT + "# more\n")
    assert copy_for(load(tmp_path / "8" / "tiny.py"), tmp_path) not in (first, second)
