"""A finished run keeps the attention of more sentences when it is asked to."""

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from attnjax.config.serialize import from_json, parse_json
from attnjax.lab.runs.result import read_result
from attnjax.lab.runs.run_folder import damaged_files
from attnjax.lab.trained.attention import keep_attention


def test_more_sentences_begin_with_those_that_were_kept(tiny_runs, tmp_path):
    run = tmp_path / "tiny" / "scaled" / "seed-1"
    shutil.copytree(tiny_runs / "tiny" / "scaled" / "seed-1", run)
    path = run / "attention.json"
    before, bytes_before = from_json(parse_json(path.read_text())), path.read_bytes()
    keep_attention(run, len(before))
    assert path.read_bytes() == bytes_before
    keep_attention(run, 7)
    after = from_json(parse_json(path.read_text()))
    assert len(after) == 7
    assert after[: len(before)] == before
    assert damaged_files(run, read_result(run)) == []


@pytest.mark.parametrize("written", range(4))
def test_a_kill_between_two_files_leaves_a_run_that_is_whole(
    tiny_runs, tmp_path, monkeypatch, written
):
    run = tmp_path / "tiny" / "scaled" / "seed-1"
    shutil.copytree(tiny_runs / "tiny" / "scaled" / "seed-1", run)
    replace, count = Path.replace, []

    def killed(self, target):
        if len(count) == written:
            raise KeyboardInterrupt
        count.append(target)
        return replace(self, target)

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(Path, "replace", killed)
        keep_attention(run, 7)
    assert len(count) == written
    assert damaged_files(run, read_result(run)) == []
    keep_attention(run, 7)
    assert len(parse_json((run / "attention.json").read_text())) == 7
    assert "attention.json" in read_result(run).files
    assert damaged_files(run, read_result(run)) == []
