"""Exports that are damaged, or that somebody else has made: a sentence, or harmless."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from attnjax.errors import UserError
from attnjax.lab.cli.main import main
from attnjax.lab.trained.export import RECORD, export, import_export, write_record
from attnjax.lab.trained.trained_run import open_trained
from tests.cli.saying import sentence
from tests.runs.damage import FILE, contents, copied, resealed
from tests.runs.hostile import re_exported, resealed as with_values


@pytest.fixture(scope="module")
def exported(tiny_runs, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / "export"
    export(tiny_runs / "tiny" / "scaled" / "seed-0", folder)
    return folder


def imported(capsys, source: Path, runs: Path) -> tuple[int, str]:
    """Return the exit code of an import, and what it prints."""
    shutil.rmtree(runs, ignore_errors=True)
    capsys.readouterr()
    code = main(["import", "attnjax", str(source), "--runs", str(runs)])
    printed = "".join(capsys.readouterr())
    assert printed.replace("\n", "").isprintable(), printed
    return code, printed


def shaped(path: Path, draw: np.random.Generator) -> str:
    """Change an array: its shape, its kind, its name."""
    arrays = load_file(path)
    name = sorted(arrays)[draw.integers(len(arrays))]
    way, value = draw.integers(5), arrays.pop(name)
    if way == 0:
        arrays[name] = np.zeros((*value.shape, 2), value.dtype)
    elif way == 1:
        arrays[name] = value.astype(np.int8)
    elif way == 2:
        arrays[f"{name}.x"] = value
    elif way == 3:
        arrays[name] = value[:0]
    path.write_bytes(save(arrays))
    return f"{name}, {way}"


@pytest.mark.parametrize("part", range(3))
def test_damaged_exports_are_a_sentence_or_harmless(exported, tmp_path, capsys, monkeypatch, part):
    monkeypatch.chdir(tmp_path)
    names = [path.relative_to(exported) for path in exported.rglob("*") if path.is_file()]
    for seed in range(30 * part, 30 * part + 30):
        draw = np.random.default_rng(seed)
        folder = copied(exported, tmp_path / "export")
        name = sorted(names)[draw.integers(len(names))]
        if seed % 3 == 0:
            done = FILE[draw.integers(len(FILE))](folder / name, draw)
        elif seed % 3 == 1:
            name = Path("config.json") if draw.random() < 0.7 else Path(RECORD)
            done = resealed(folder / name, draw)
            fitting(folder, name)
        else:
            name = Path("model.safetensors")
            done = shaped(folder / name, draw)
            write_record(folder, 6)
        before = contents(folder)
        code, printed = imported(capsys, folder, tmp_path / "runs")
        assert contents(folder) == before, (name, done)
        assert {path.name for path in tmp_path.iterdir()} <= {"export", "runs"}, (name, done)
        assert code in (0, 2), (name, done)
        if code == 2:
            assert printed.count("\n") == 1, (name, done, printed)
            assert not contents(tmp_path / "runs"), (name, done)
        else:
            (run,) = (path.parent for path in (tmp_path / "runs").rglob("result.json"))
            with suppress(UserError):
                open_trained(run)


def fitting(folder: Path, name: Path) -> None:
    """Give an export digests that fit, where it can be read."""
    if name.name != RECORD:
        write_record(folder, 6)


@pytest.mark.parametrize("name", ["vocabulary", "vocabulary/vocabulary.json", "experiment.py"])
@pytest.mark.parametrize("target", ["/", "/dev/zero", "outside"])
def test_a_link_of_an_export_is_not_followed(exported, tmp_path, capsys, name, target):
    folder = re_exported(exported, tmp_path / "export", {})
    (tmp_path / "outside").write_bytes((exported / "experiment.py").read_bytes())
    path = folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(tmp_path / target)
    code, printed = imported(capsys, folder, tmp_path / "runs")
    assert code == 2
    assert f"{name!r} is a link, or no file at all" in printed


@pytest.mark.parametrize("name", ["experiment.py", "config.json"])
def test_an_export_of_a_strangers_run_follows_no_link(tiny_runs, tmp_path, capsys, name):
    run = shutil.copytree(tiny_runs / "tiny" / "scaled" / "seed-0", tmp_path / "run")
    (tmp_path / "secret").write_bytes((run / name).read_bytes())
    (run / name).unlink()
    (run / name).symlink_to(tmp_path / "secret")
    said = sentence(capsys, "checkpoints", str(run), "--export", str(tmp_path / "export"))
    assert f"{name!r} is a link" in said
    assert not (tmp_path / "export").exists()


def with_width(folder: Path, width: int) -> dict[str, Any]:
    from attnjax.lab.runs.json_files import read_sealed

    settings = read_sealed(folder / "config.json")["settings"]
    settings["model"]["width"] = width
    return settings


def test_an_export_of_another_model_is_named(exported, tmp_path, capsys):
    folder = re_exported(exported, tmp_path / "export", {})
    with_values(folder / "config.json", settings=with_width(folder, 32))
    write_record(folder, 6)
    code, printed = imported(capsys, folder, tmp_path / "runs")
    assert code == 2
    assert "has the parameters of another model" in printed


def test_a_run_of_another_model_is_named(exported, tmp_path, capsys):
    run = import_export(exported, tmp_path / "runs")
    with_values(run / "config.json", settings=with_width(run, 32))
    with pytest.raises(UserError, match="has the parameters of another model"):
        open_trained(run)
    assert "has the parameters of another model" in sentence(capsys, "evaluate", str(run))
