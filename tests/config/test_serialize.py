import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from attnjax.attention.align.local import LocalPredictive
from attnjax.attention.score.base import Additive
from attnjax.config.parts import shipped
from attnjax.config.serialize import (
    finite,
    from_json,
    json_text,
    own_names,
    record_differences,
    to_json,
)
from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.evaluation.measures.saturation import Saturation
from attnjax.experiment.load import load
from attnjax.lab.runs.trust import shipped_folder

FILES = [*sorted(shipped_folder().glob("*.py")), Path(__file__).parents[1] / "tiny.py"]


def test_json_has_no_number_that_is_not_finite():
    data = {"a": [1.5, math.inf, (-math.inf, 2)], "b": {"c": math.nan, "d": "NaN"}, "e": True}
    text = json_text(data)
    assert text == '{"a": [1.5, null, [null, 2]], "b": {"c": null, "d": "NaN"}, "e": true}'
    assert json.loads(text) == finite(data)
    assert json_text(["ä", 1], indent=1) == '[\n "ä",\n 1\n]'


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_variant_comes_back_equal(path):
    loaded = load(path)
    for variant in [loaded.ablation.base, *loaded.ablation.variants.values()]:
        text = json.dumps(to_json(variant, loaded.own))
        again = from_json(json.loads(text), loaded.own)
        assert again == variant
        assert hash(again) == hash(variant)


def test_only_a_part_of_the_file_is_the_files_own():
    """Let a run without one go on though the file's note was edited."""
    heads, rectified = {"SideBySide", "Unchanged"}, {"SideBySide", "Rectified"}
    parts = {"cosine": {"Cosine"}, "one_head": heads, "four_heads": heads}
    parts |= {"feed_forward": rectified, "three_layers": rectified}
    for path in FILES:
        loaded = load(path)
        for name, variant in loaded.ablation.variants.items():
            own = parts.get(name, set()) if path.stem in ("tiny", "gpt_ladder") else set()
            assert own_names(to_json(variant, loaded.own)) == own


def test_a_part_of_the_file_has_the_files_name():
    loaded = load(FILES[-1])
    record = to_json(loaded.ablation.variants["cosine"], loaded.own)
    score = record["model"]["encoder_layer"]["self_attention"]["head"]["score"]
    assert score == {"type": "experiment.Cosine", "sharpness": 5.0}
    assert record["model"]["type"] == "attnjax.models.transformer.Transformer"


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "subprocess.Popen",
        "experiment.Nothing",
        "attnjax.nothing.Nothing",
        "attnjax.config.serialize.json",
        "attnjax.config.serialize.from_json",
        "attnjax.__main__.start",
        "attnjax.Nothing",
        "attnjax.",
        "attnjax.experiment.Path",
        "attnjax.config.vary.UserError",
        "attnjax.experiment.Adam",  # imported there, recorded by another name
        None,
        3,
    ],
)
def test_a_name_resolves_among_dataclasses_of_ours_only(name):
    shipped()  # imports every module that may define parts
    before = set(sys.modules)
    with pytest.raises(UserError, match="is no part of"):
        from_json({"type": name})
    assert not {module for module in set(sys.modules) - before if not module.startswith("attnjax")}


def test_fields_that_the_class_has_not_are_refused():
    with pytest.raises(UserError, match="does not fit attnjax.attention.score.Additive"):
        from_json({"type": "attnjax.attention.score.Additive", "height": 3})


@dataclass(frozen=True)
class Foreign:
    value: int = 0


@pytest.mark.parametrize("value", [Foreign(), object(), [1], {1: 2}, len, Foreign])
def test_what_cannot_come_back_is_not_recorded(value):
    with pytest.raises(UserError):
        to_json(value)


def test_the_first_difference_is_named():
    base = load(FILES[-1]).ablation.base
    path = "model.encoder_layer.self_attention.head.score"
    other = vary(base, {"task.seed": 3, path: Additive()})
    found = record_differences(to_json(base), to_json(other))
    assert found == [("task.seed", None, 3), (path, "ScaledDot", "Additive(width=None)")]
    assert not record_differences(to_json(base), to_json(base))


def test_a_field_younger_than_a_record_has_its_default():
    now = to_json((Saturation(), Saturation(draws=3)))
    earlier = [{name: value for name, value in part.items() if name != "draws"} for part in now]
    assert not record_differences(earlier[:1], now[:1])
    assert record_differences({"measures": earlier}, {"measures": now})
    (listed,) = record_differences({"measures": now[:1]}, {"measures": now})
    assert listed[1] == "[Saturation(examples=64, draws=1)]"
    (difference,) = record_differences(earlier[1], now[1])
    assert difference == ("draws", 1, 3)


@pytest.mark.parametrize("sigma", [2.5, float("inf"), float("-inf")])
def test_a_number_that_json_has_not_comes_back(sigma):
    part = LocalPredictive(sigma=sigma)
    text = json.dumps(to_json(part), allow_nan=False)
    assert from_json(json.loads(text)) == part
