"""`attnjax rehearse`: what it prints, its exit code, and what it refuses."""

from dataclasses import replace

import jax
import pytest

from attnjax.lab.cli.main import main
from attnjax.lab.rehearsal import CHIPS, Topology, chips
from tests.cli.saying import TINY, sentence

TRANSLATION = ("vaswani2017", "--setting", "paper", "--on", "v5e:2x4")


@pytest.fixture
def here(monkeypatch):
    """Let the eight devices of this machine stand for the chips."""
    monkeypatch.setattr(Topology, "devices", lambda _: jax.devices())
    # a test is one process: no platform is to be chosen anew
    changes = {}
    monkeypatch.setattr(jax.config, "update", changes.__setitem__)
    return changes


def test_the_step_of_an_experiment(here, capsys):
    assert main(["rehearse", TINY, "--variant", "cosine", "--on", "v5e:2x4"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("v5e:2x4: 8 x TPU v5e, each 197 TFLOP/s in float32")
    for part in ("arguments", "temporaries", "matrix products", "1 all-reduce", "-bound", "fits"):
        assert part in said
    assert "computes its weights: the score Cosine needs them" in said
    expected = {"jax_platforms": "cpu", "jax_enable_compilation_cache": False}
    assert here.items() >= expected.items()


def test_a_step_that_does_not_fit_is_exit_code_1(here, monkeypatch, capsys):
    monkeypatch.setitem(CHIPS, "v5e", replace(CHIPS["v5e"], memory=1000))
    sizes = ("--vocabulary", "12", "--length", "4", "--training.batching.batch_size_multiple", "8")
    assert main(["rehearse", TINY, "--on", "v5e:2x4", *sizes]) == 1
    said = capsys.readouterr().out
    assert " x 4 source" in said
    assert "does not fit" in said


def test_what_is_refused(capsys, monkeypatch, tmp_path):
    said = sentence(capsys, "rehearse", TINY, "--on", "v5e:3x3")
    assert "unknown topology 'v5e:3x3'; TPU v5e has v5e:1x1" in said
    said = sentence(capsys, "rehearse", TINY, "--on", "v5e:2x4", "--length", "4")
    assert "--vocabulary and --length go together" in said
    monkeypatch.setattr(chips, "find_spec", lambda _: None)
    said = sentence(capsys, "rehearse", TINY, "--on", "h100:8")
    assert "needs its compiler, jax_cuda12_plugin: in a checkout of attnjax, pip install" in said
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    said = sentence(capsys, "rehearse", *TRANSLATION)
    assert "--vocabulary 37000 --length 64 rehearses on a batch of sentences" in said
