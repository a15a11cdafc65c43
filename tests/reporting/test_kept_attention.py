"""The attention that runs have kept, decoded or not."""

import json
import re
from dataclasses import replace

from attnjax.config.serialize import to_json
from attnjax.lab.reporting import page
from tests.reporting.fake import sentence, summary, write_runs


def test_only_what_a_decoder_is_given_is_called_so(tmp_path):
    fake = write_runs(tmp_path, summary())
    text = page.write(tmp_path, fake).read_text(encoding="utf-8")
    assert "while the decoder is given the reference" in text
    for row in fake.rows:
        for run in row.runs:
            label = replace(sentence("a", "b"), target=("5",), gold=())
            (run / "attention.json").write_text(json.dumps(to_json((label,))))
    text = page.write(tmp_path, fake).read_text(encoding="utf-8")
    assert "the weights of the first test sentence: keys across" in text
    assert not re.search(r"decoder", text[: text.index("<script>")])


def test_a_damaged_picture_leaves_out_its_figure(tmp_path):
    fake = write_runs(tmp_path, summary())
    (fake.rows[0].runs[0] / "attention.json").write_text("[{")
    text = page.write(tmp_path, fake).read_text(encoding="utf-8")
    assert "attention.json is damaged" in text
