"""Exports that somebody else has made: one sentence, and nothing is left."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from attnjax.lab.runs.json_files import read_sealed
from attnjax.lab.trained.export import export, import_export
from attnjax.lab.trained.trained_run import open_trained
from tests.cli.saying import sentence
from tests.runs.hostile import re_exported, resealed


@pytest.fixture(scope="module")
def exported(tiny_runs, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / "export"
    export(tiny_runs / "tiny" / "scaled" / "seed-0", folder)
    return folder


def refused(capsys, source: Path) -> str:
    """Return the sentence by which an export is refused; nothing is written."""
    runs = source.parent / "runs"
    before = {path.name for path in source.parent.iterdir()}
    refusal = sentence(capsys, "import", "attnjax", str(source), "--runs", str(runs))
    assert {path.name for path in source.parent.iterdir()} <= before | {"runs"}
    assert not [*runs.glob("*")]
    return refusal


@pytest.mark.parametrize(
    "values",
    [
        {"seed": "/../../outside"},
        {"seed": "0"},
        {"seed": 1.5},
        {"seed": -1},
        {"seed": True},
        {"variant": ".."},
        {"variant": "/outside"},
        {"variant": "a\nb"},
        {"experiment": "../outside"},
        {"setting": "/../../outside"},
        {"settings": None},
        {"settings": {}},
        {"settings": {"training": {}}},
        {"settings": {"type": "os.system", "training": {}}},
    ],
    ids=str,
)
def test_a_hostile_manifest_of_an_export(exported, tmp_path, capsys, values):
    path = tmp_path / "config.json"
    path.write_text((exported / "config.json").read_text())
    resealed(path, **values)
    files = {"config.json": path.read_text()}
    path.unlink()
    changed = re_exported(exported, tmp_path / "export", files)
    refused(capsys, changed)


@pytest.mark.parametrize(
    "step", ["", "6", -1, 1.5, True, None, 2**31, 10**30, "../7"], ids=lambda step: repr(step)
)
def test_a_hostile_number_of_updates(exported, tmp_path, capsys, step):
    changed = re_exported(exported, tmp_path / "export", {})
    resealed(changed / "export.json", step=step)
    assert "step: wanted int" in refused(capsys, changed)


@pytest.mark.parametrize(
    "files",
    [
        None,
        [],
        {},
        {"../../x": "0"},
        {"/etc/passwd": "0"},
        {"checkpoints/6/x": "0"},
        {"config.json": 1},
    ],
    ids=str,
)
def test_hostile_digests_of_an_export(exported, tmp_path, capsys, files):
    changed = re_exported(exported, tmp_path / "export", {})
    held = read_sealed(changed / "export.json")["files"]
    resealed(changed / "export.json", files=held | files if files else files)
    refused(capsys, changed)


@pytest.mark.parametrize(
    "name, content",
    [
        ("vocabulary/source", ""),
        ("vocabulary/source/x", ""),
        ("vocabulary/vocabulary.json", "1"),
        ("vocabulary/vocabulary.json", ""),
        ("config.json", "[]"),
        ("config.json", ""),
        ("model.safetensors", ""),
        ("model.safetensors", b"\xff" * 64),
        ("export.json", "[" * 100_000),
    ],
)
def test_a_hostile_file_of_an_export(exported, tmp_path, capsys, name, content):
    changed = tmp_path / "export"
    if name == "export.json":
        re_exported(exported, changed, {})
        (changed / name).write_text(content)
    else:
        re_exported(exported, changed, {name: content})
    refused(capsys, changed)


def test_only_the_files_of_an_export_are_imported(exported, tmp_path):
    more = {"checkpoints/9/x": "", "lease-1.json": "{}", "result.json": "{}"}
    run = import_export(re_exported(exported, tmp_path / "export", more), tmp_path / "runs")
    assert not (run / "lease-1.json").exists()
    assert not (run / "checkpoints/9").exists()
    assert open_trained(run, trust=True).finished


@pytest.mark.parametrize("name", ["/x", "../x", "..", "", "encoder", "encoder.norm.scale.x"])
def test_a_hostile_array_of_an_export(exported, tmp_path, capsys, name):
    arrays = load_file(exported / "model.safetensors")
    arrays |= {name: np.zeros(1), "encoder.norm.scale": np.zeros(1)}
    changed = re_exported(exported, tmp_path / "export", {"model.safetensors": save(arrays)})
    assert "is the path of no parameter" in refused(capsys, changed)
