"""A run records the code that made it, and a summary tells other code from this."""

import importlib
import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from attnjax.config import packages
from attnjax.config.serialize import to_json
from attnjax.errors import UserError
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.loop import loop
from attnjax.lab.results.folder import summarize
from attnjax.lab.runs import provenance
from attnjax.lab.runs.json_files import read_sealed, write_sealed
from attnjax.lab.runs.manifest import CONFIG, manifest
from attnjax.lab.runs.run_folder import RESULT

TINY = Path(__file__).parents[1] / "tiny.py"


@pytest.fixture
def runs(tiny_runs, tmp_path) -> Path:
    """Return a copy of the finished runs of the tiny file, to be changed."""
    return Path(shutil.copytree(tiny_runs / "tiny", tmp_path / "tiny"))


def remarks(runs: Path) -> tuple[str, ...]:
    return summarize(runs, load(TINY)).remarks


def test_runs_of_other_sources_are_counted(runs, monkeypatch):
    record = json.loads((runs / "scaled" / "seed-0" / RESULT).read_text())["code"]
    assert record == asdict(provenance.code(TINY))
    assert record["attnjax"]["library"] == provenance.library_digest(provenance.PACKAGE)
    assert remarks(runs) == ()
    monkeypatch.setattr(provenance, "library_digest", lambda _: "f" * 64)
    (said,) = remarks(runs)
    before = f"sources {record['attnjax']['library'][:10]}"
    assert said.startswith("4 runs are of another version of attnjax (")
    assert f"{before}) than this one (" in said
    assert said.endswith("sources ffffffffff)")


def test_splits_are_named_by_their_origin(runs):
    path = runs / "scaled" / "seed-0" / RESULT
    content = read_sealed(path)
    assert content["splits"]["test"] == "test: 8 examples"
    news = "wmt14_translate/de-en test (newstest2014): 3,003 examples"
    write_sealed(path, content | {"splits": {"train": "train: 48 examples", "test": news}})
    assert remarks(runs) == (f"data of scaled: test is {news}",)


def test_the_code_is_that_of_the_beginning(tmp_path, monkeypatch):
    """Who edits the library while a run trains has not changed the run."""
    digests, train = ["a" * 64], loop.train

    def edited(*given, **named):
        digests.insert(0, "b" * 64)
        return train(*given, **named)

    monkeypatch.setattr(provenance, "library_digest", lambda _: digests[0])
    monkeypatch.setattr(loop, "train", edited)
    command = ["run", str(TINY), "--variant", "scaled", "--seeds", "1", "--runs", str(tmp_path)]
    assert main(command) == 0
    result = json.loads((tmp_path / "tiny/scaled/seed-0" / RESULT).read_text())
    assert result["code"]["attnjax"]["library"] == "a" * 64


def test_all_versions_that_trained_a_run_are_named(runs, monkeypatch, capsys):
    first = provenance.library_digest(provenance.PACKAGE)
    assert [made["library"] for made in made_by(runs, CONFIG)] == [first]
    assert made_by(runs, RESULT) == []
    shutil.rmtree(runs / "cosine")
    monkeypatch.setattr(provenance, "library_digest", lambda _: "f" * 64)
    command = ["run", str(TINY), "--variant", "scaled", "--runs", str(runs.parent)]
    assert main([*command, "--training.steps", "7"]) == 0
    for file in (CONFIG, RESULT):
        assert [made["library"] for made in made_by(runs, file)] == [first, "f" * 64]
    said = capsys.readouterr().err
    assert "scaled/seed-0 was begun by another version of attnjax (" in said
    assert f"sources {first[:10]}) than this one (" in said


def made_by(runs: Path, file: str) -> list[dict[str, str]]:
    return read_sealed(runs / "scaled" / "seed-0" / file)["made_by"]


@pytest.mark.parametrize(
    ("file", "before", "after", "counts"),
    [
        ("lab/loop/validation.py", "progress.waited >= ", "progress.waited > ", True),
        ("lab/checkpoints/checkpoint.py", "def average", "def averages", True),
        ("lab/checkpoints/snapshot.py", "stopped", "ended", True),
        ("lab/sweeps/train.py", "", "# another comment\n", True),
        ("lab/sweeps/division.py", "ON_A_CORE = 4", "ON_A_CORE = 2", True),
        ("training/step.py", "", "# another comment\n", True),
        ("lab/cli/main.py", "", "# another comment\n", False),
        ("lab/reporting/page.py", "", "# another comment\n", False),
        ("lab/sweeps/plan.py", "", "# another comment\n", False),
        ("experiments/mine.py", "", "# of an installed package\n", False),
        ("lab/loop/style.css", "", "a {}", False),
    ],
)
def test_the_library_s_digest_is_of_what_can_change_a_number(tmp_path, file, before, after, counts):
    package = shutil.copytree(provenance.PACKAGE, tmp_path / "attnjax")
    digests = provenance.library_digest(package)
    every = provenance.package_digest(package)
    path = package / file
    path.parent.mkdir(exist_ok=True)
    text = path.read_text() if path.exists() else ""
    assert before in text
    path.write_text(text.replace(before, after, 1))
    assert (provenance.library_digest.__wrapped__(package) != digests) == counts
    assert (provenance.package_digest.__wrapped__(package) != every) == file.endswith(".py")


def test_an_older_version_is_compared_by_its_digest_and_commit(monkeypatch):
    now = provenance.Sources(digest="a" * 64, library="b" * 64, commit="c" * 40, clean=True)
    monkeypatch.setattr(provenance, "sources", lambda: now)
    old = replace(now, library=None)
    assert replace(now, digest="0" * 64, commit=None).is_running
    assert not replace(now, library="0" * 64).is_running
    assert old.is_running
    assert replace(old, digest="0" * 64).is_running, "the files of a commit are known"
    assert not replace(old, digest="0" * 64, commit=None).is_running
    assert not replace(old, digest="0" * 64, clean=False).is_running
    assert not replace(old, digest="0" * 64, commit="d" * 40).is_running


def test_the_commit_and_whether_the_files_are_unchanged(tmp_path):
    def git(*words: str) -> str:
        author = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", "-C", str(tmp_path), *author, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    commit = provenance.commit.__wrapped__
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    assert commit(file) == provenance.Commit()
    git("init")
    assert commit(file) == provenance.Commit()
    git("add", "a.py")
    git("commit", "-m", "a")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "result.json").write_text("{}")
    assert commit(file) == provenance.Commit(commit=git("rev-parse", "HEAD"), clean=True)
    file.write_text("x = 2\n")
    assert commit(file) == provenance.Commit(commit=git("rev-parse", "HEAD"), clean=False)


OF_A_PACKAGE = """
from attnjax.data.generated.sequences import Copy
from attnjax.experiment import Experiment
from attnjax.attention import Attention, MultiHead
from attnjax.models import EncoderLayer, Transformer
from theirs_of_a_test import Theirs
import wave, numpy, annotated_types

heads = MultiHead(head=Attention(align=Theirs()))
model = Transformer(encoder_layer=EncoderLayer(self_attention=heads))
experiment = Experiment(task=Copy(), model=model)
"""
THEIRS = """
from attnjax.attention import Align


class Theirs(Align):
    def __call__(self, logits, mask, context):
        return logits
"""


def test_the_version_of_a_package_that_a_part_comes_from_is_recorded(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "theirs_of_a_test.py").write_text(THEIRS)
    (tmp_path / "mine.py").write_text(OF_A_PACKAGE)
    monkeypatch.syspath_prepend(site)
    loaded = load(tmp_path / "mine.py")
    assert loaded.imported == {}

    def recorded() -> dict[str, str]:
        packages.versions_of.cache_clear()
        importlib.invalidate_caches()
        of_run = manifest(loaded, "experiment", 0, to_json(loaded.ablation.base, loaded.own))
        return dict(of_run.packages)

    found = [recorded()]  # it lies there and has no version
    (site / "theirs_of_a_test.py").write_text(THEIRS + "NUMBER = 2\n")
    found.append(recorded())
    about = site / "theirs_of_a_test-1.0.dist-info"
    about.mkdir()
    (about / "top_level.txt").write_text("theirs_of_a_test\n")
    for version in ("1.0", "2.0"):
        (about / "METADATA").write_text(f"Name: theirs-of-a-test\nVersion: {version}\n")
        found.append(recorded())
    sys.modules.pop("theirs_of_a_test")
    assert [*found[0]] == [*found[1]] == ["theirs_of_a_test"]
    assert found[0] != found[1]
    assert found[2:] == [{"theirs-of-a-test": "1.0"}, {"theirs-of-a-test": "2.0"}]
    provenance.check_packages(tmp_path, found[2], found[2])
    with pytest.raises(UserError, match=r"has parts of \S+ 1\.0, and 2\.0 is installed"):
        provenance.check_packages(tmp_path, *found[2:])
    digests = [provenance.definitions_digest(loaded.text, ["Theirs"], one) for one in found]
    assert len(set(digests)) == 4


def test_a_module_of_ones_own_that_has_moved_is_compared():
    then = {"helper.py": "a", "../lib/deep.py": "b"}
    changed = provenance.changed_imports
    assert changed(then, {"helper/__init__.py": "a", "../../lib/deep.py": "b"}) == []
    assert changed(then, {"helper/__init__.py": "c", "deep.py": "b"}) == ["helper.py"]
    assert changed(then, {"helper.py": "a", "other.py": "c"}) == []
