"""The attention that runs have kept: of this version and of earlier ones, decoded or not."""

import json
import re
from dataclasses import replace

import numpy as np

from attnjax.config.serialize import to_json
from attnjax.evaluation.attention_record import LayerWeights
from attnjax.evaluation.measures.base import Picture
from attnjax.reporting import page
from attnjax.reporting.runs import attention
from tests.reporting.fake import sentence, summary, write_runs


def test_only_what_a_decoder_is_given_is_called_so(tmp_path):
    fake = write_runs(tmp_path, summary())
    text = page.write(tmp_path, fake).read_text(encoding="utf-8")
    assert "while the decoder is given the reference" in text
    for row in fake.rows:
        for run in row.runs:
            label = replace(sentence("a", "b"), target=("5",), gold=())
            (tmp_path / run / "attention.json").write_text(json.dumps(to_json((label,))))
    text = page.write(tmp_path, fake).read_text(encoding="utf-8")
    assert "the weights of the first test sentence: keys across" in text
    assert not re.search(r"decoder", text[: text.index("<script>")])


def test_a_damaged_picture_leaves_out_its_figure(tmp_path):
    fake = write_runs(tmp_path, summary())
    (tmp_path / fake.rows[0].runs[0] / "attention.json").write_text("[{")
    text = page.write(tmp_path, fake).read_text(encoding="utf-8")
    assert "attention.json is damaged" in text


def test_a_picture_of_an_earlier_version_is_read(tmp_path):
    old = Picture(source=("a", "b"), target=("c",), weights=((0.25, 0.75),), gold=((1,),))
    (tmp_path / "attention.json").write_text(json.dumps(to_json((old,))))
    (kept,) = attention(tmp_path)
    assert (kept.source, kept.target, kept.gold) == (old.source, old.target, old.gold)
    (layer,) = kept.layers
    assert "mean over its heads" in layer.name
    np.testing.assert_allclose(layer.array()[0], old.weights, atol=0.005)


def test_attentions_of_an_earlier_version_have_the_names_of_now(tmp_path):
    layer = LayerWeights.of("layers_0.self_attention.head", "read", "read", np.ones((1, 1, 1)))
    kept = replace(sentence("a"), layers=(layer,))
    (tmp_path / "attention.json").write_text(json.dumps(to_json((kept,))))
    assert [layer.name for layer in attention(tmp_path)[0].layers] == ["layers_0.self_attention"]
