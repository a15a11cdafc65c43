"""Exports that somebody else has made: one sentence, and nothing is left."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from attnjax.trained.export import export
from tests.cli.saying import sentence
from tests.runs.hostile import export_texts, re_exported, resealed


@pytest.fixture(scope="module")
def exported(tiny_runs, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("exports") / "file"
    export(tiny_runs / "tiny" / "scaled" / "seed-0", file)
    return file


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
    path.write_text(export_texts(exported)["config"])
    resealed(path, **values)
    re_exported(exported, tmp_path / "file", {"config": path.read_text()})
    path.unlink()
    sentence(capsys, "import", "attnjax", str(tmp_path / "file"), "--runs", str(tmp_path / "runs"))
    assert {path.name for path in tmp_path.iterdir()} == {"file", "runs"}
    assert not [*(tmp_path / "runs").iterdir()]


@pytest.mark.parametrize(
    "name, text",
    [
        *(("step", text) for text in ("", "abc", "-1", "1e3", "9" * 5000, "../7")),
        *(
            ("vocabulary", json.dumps({name: ""}))
            for name in ("../../x", "/x", "", "..", "a/b", "source/../x", "source", "a\0")
        ),
        ("vocabulary", '{"vocabulary.json": 1}'),
        ("config", "[]"),
        ("config", ""),
    ],
)
def test_a_hostile_text_of_an_export(exported, tmp_path, capsys, name, text):
    re_exported(exported, tmp_path / "file", {name: text})
    sentence(capsys, "import", "attnjax", str(tmp_path / "file"), "--runs", str(tmp_path / "runs"))
    assert {path.name for path in tmp_path.iterdir()} == {"file", "runs"}
    assert not [*(tmp_path / "runs").iterdir()]


@pytest.mark.parametrize("name", ["/x", "../x", "..", "", "encoder", "encoder.norm.scale.x"])
def test_a_hostile_array_of_an_export(exported, tmp_path, capsys, name):
    held = load_file(exported) | {name: np.zeros(1), "encoder.norm.scale": np.zeros(1)}
    save_file(held, tmp_path / "file", export_texts(exported))
    said = sentence(
        capsys, "import", "attnjax", str(tmp_path / "file"), "--runs", str(tmp_path / "runs")
    )
    assert "is the path of no parameter" in said
    assert not [*(tmp_path / "runs").iterdir()]
