"""`attnjax checkpoints` and `attnjax import attnjax`: lists, damage, and exports."""

import errno
import json
import os
import shutil
import stat
from pathlib import Path

import jax
import numpy as np
import pytest
from flax import traverse_util
from safetensors.numpy import load_file

from attnjax.errors import UserError
from attnjax.lab.cli.main import main
from attnjax.lab.runs.initial_parameters import params_digest
from attnjax.lab.trained import export as export_module
from attnjax.lab.trained.export import export, import_export
from attnjax.lab.trained.trained_run import open_trained
from tests.cli.saying import TINY, sentence
from tests.runs.hostile import resealed


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    kept = ["--training.keep_last", "2", "--training.keep_best", "1"]
    words = ["run", TINY, "--variant", "cosine", "--seeds", "1", *kept, "--runs", str(folder)]
    assert main(words) == 0
    return folder / "tiny/cosine/seed-0"


@pytest.fixture(scope="module")
def exported(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exports") / "export"
    assert main(["checkpoints", str(run), "--export", str(path)]) == 0
    return path


def same(ours: object, theirs: object) -> bool:
    return all(jax.tree.leaves(jax.tree.map(np.array_equal, ours, theirs)))


def test_an_export_becomes_a_run_of_equal_bits(run, exported, tmp_path, capsys):
    assert main(["import", "attnjax", str(exported), "--runs", str(tmp_path)]) == 0
    imported = tmp_path / "tiny/cosine/seed-0"
    assert capsys.readouterr().out == f"{imported} (initial_parameters_from: tiny/cosine)\n"
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"], "nothing else is left"
    ours, theirs = (open_trained(folder, trust=True) for folder in (imported, run))
    assert same(ours.params, theirs.params)
    assert ours.manifest == theirs.manifest
    assert ours.finished
    shown = []
    for folder in (imported, run):
        assert main(["evaluate", str(folder), "--json"]) == 0
        shown.append(json.loads(capsys.readouterr().out) | {"run": ""})
    assert shown[0] == shown[1]
    assert "is there already" in sentence(
        capsys, "import", "attnjax", str(exported), "--runs", str(tmp_path)
    )


def test_any_program_can_read_an_export(run, exported):
    files = {path.relative_to(exported).as_posix() for path in exported.rglob("*")}
    assert files == {
        "model.safetensors",
        "config.json",
        "experiment.py",
        "vocabulary",
        "vocabulary/vocabulary.json",
        "export.json",
    }
    for name in ("config.json", "experiment.py", "vocabulary/vocabulary.json"):
        assert (exported / name).read_bytes() == (run / name).read_bytes()
    params = traverse_util.flatten_dict(open_trained(run, trust=True).params, sep=".")
    arrays = load_file(exported / "model.safetensors")
    assert arrays.keys() == params.keys()
    assert all(np.array_equal(arrays[name], params[name]) for name in params)


def test_an_imported_run_begins_others_and_does_not_go_on(exported, tmp_path, capsys):
    assert main(["import", "attnjax", str(exported), "--runs", str(tmp_path)]) == 0
    words = ["run", TINY, "--variant", "cosine", "--seeds", "1", "--training.steps", "9"]
    words += ["--training.keep_last", "2", "--training.keep_best", "1", "--runs", str(tmp_path)]
    assert main(words) == 2
    assert "has no state of this optimizer" in capsys.readouterr().err


def test_the_checkpoints_are_listed_with_their_reasons(run, tmp_path, capsys):
    assert main(["checkpoints", str(run)]) == 0
    heads, *rows = capsys.readouterr().out.splitlines()
    assert heads.split() == ["checkpoint", "epochs", "valid", "loss", "size", "state", "kept"]
    *_, last = rows
    assert last.split()[0] == "6"
    assert "whole" in last
    assert "latest" in last
    assert "result" in last
    # a damaged one is named, and no file is changed
    copy = shutil.copytree(run, tmp_path / "copy")
    (copy / "checkpoints/6/digest").write_text("0")
    before = sorted(path for path in copy.rglob("*"))
    assert main(["checkpoints", str(copy)]) == 0
    assert "checkpoints/6 is corrupt" in capsys.readouterr().out
    assert main(["checkpoints", str(copy), "--verify"]) == 1
    assert main(["checkpoints", str(run), "--verify"]) == 0
    assert sorted(path for path in copy.rglob("*")) == before
    assert "checkpoints/6 is corrupt" in sentence(
        capsys, "checkpoints", str(copy), "--export", str(tmp_path / "x")
    )
    assert not (tmp_path / "x").exists()


def test_two_checkpoints_swapped_by_name_are_corrupt(run, tmp_path, capsys):
    copy = shutil.copytree(run, tmp_path / "copy")
    first, second = sorted(path for path in (copy / "checkpoints").iterdir() if path.is_dir())
    first.rename(aside := first.with_name("aside"))
    second.rename(first)
    aside.rename(second)
    assert main(["checkpoints", str(copy), "--verify"]) == 1
    said = capsys.readouterr().out
    assert all(f"{path} is corrupt" in said for path in (first, second))
    assert f"{second} is corrupt" in sentence(capsys, "evaluate", str(copy))


def test_what_cannot_be_exported_or_imported_is_said(run, exported, tmp_path, capsys):
    export, import_ = ["checkpoints", str(run)], ["import", "attnjax"]
    assert "--average goes with --export" in sentence(capsys, *export, "--average", "2")
    assert "is there already" in sentence(capsys, *export, "--export", str(exported))
    gone = tmp_path / "no/folder/x"
    assert f"{gone} cannot be written" in sentence(capsys, *export, "--export", str(gone))
    assert "is not the folder of a run" in sentence(capsys, "checkpoints", str(tmp_path))
    assert f"{gone} is no export of attnjax" in sentence(capsys, *import_, str(gone))
    assert f"{tmp_path} is no export of attnjax" in sentence(capsys, *import_, str(tmp_path))
    assert f"{TINY} is no export of attnjax" in sentence(capsys, *import_, TINY)


def test_an_export_that_cannot_be_written_leaves_nothing(run, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export_module, "write_record", full)
    with pytest.raises(UserError, match="cannot be written"):
        export(run, tmp_path / "export")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "experiment.py",
        "vocabulary/vocabulary.json",
        "model.safetensors",
        "export.json",
    ],
)
@pytest.mark.parametrize("place", [0, -3])
def test_a_flipped_bit_of_an_export_is_noticed(exported, tmp_path, name, place):
    changed = shutil.copytree(exported, tmp_path / "export")
    content = bytearray((changed / name).read_bytes())
    content[place] ^= 1
    (changed / name).write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        import_export(changed, tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "name", ["config.json", "experiment.py", "vocabulary/vocabulary.json", "model.safetensors"]
)
def test_an_export_without_a_file_is_refused(exported, tmp_path, name):
    changed = shutil.copytree(exported, tmp_path / "export")
    (changed / name).unlink()
    with pytest.raises(UserError, match=f"{name}' is not as it was exported"):
        import_export(changed, tmp_path / "runs")


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_the_umask_decides_who_reads_an_export(run, tmp_path, mask):
    before = os.umask(mask)
    try:
        export(run, tmp_path / "export")
    finally:
        os.umask(before)
    for path in (tmp_path / "export", *(tmp_path / "export").rglob("*")):
        every = 0o777 if path.is_dir() else 0o666
        assert stat.S_IMODE(path.stat().st_mode) == every & ~mask


def test_a_result_names_the_checkpoints_that_it_is_made_of(run, tmp_path, capsys):
    copy = shutil.copytree(run, tmp_path / "copy")
    (steps,) = json.loads((copy / "result.json").read_text())["averaged"]
    resealed(copy / "result.json", averaged=[2, steps])
    for words in (["evaluate", str(copy)], ["checkpoints", str(copy), "--export", "x"]):
        assert "lacks the checkpoint of step 2" in sentence(capsys, *words)
    resealed(copy / "result.json", averaged=[steps])
    shutil.rmtree(copy / "checkpoints" / str(steps))
    assert f"lacks the checkpoint of step {steps}" in sentence(capsys, "evaluate", str(copy))


def test_the_digest_is_of_names_and_numbers():
    params = {"a": {"b": np.arange(3.0)}}
    assert params_digest(params) == params_digest({"a": {"b": np.arange(3.0)}})
    assert params_digest(params) != params_digest({"a": {"c": np.arange(3.0)}})
    assert params_digest(params) != params_digest({"a": {"b": np.arange(3.0) + 1e-9}})
