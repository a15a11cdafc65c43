"""The workloads for a GPU, as far as a CPU can try them; nothing here is timed."""

import json
from pathlib import Path
from types import SimpleNamespace

import jax.numpy as jnp

from attnjax.errors import UserError
from benchmarks import __main__ as command, attention, gpu


def test_without_a_gpu_nothing_is_timed(capsys):
    assert command.program(["gpu"]) == 2
    printed, sentence = capsys.readouterr()
    assert not printed
    assert sentence.startswith("attnjax: this benchmark needs a GPU; JAX found")
    assert sentence.count("\n") == 1


def test_what_was_measured_before_the_peer_failed_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(gpu.jax, "devices", lambda: [SimpleNamespace(platform="gpu")])
    monkeypatch.setattr(command, "machine", lambda: {"device": "a GPU"})
    peers = []

    def measure(workload, python, limit):
        peers.append(python)
        if workload.name == "gpu-seeds-1":
            raise UserError("the peer stopped: no engine")
        return {"name": workload.name}

    monkeypatch.setattr(gpu, "measure", measure)
    monkeypatch.setattr(gpu, "product", lambda side, dtype: None)
    assert command.program(["gpu", "--peer", "there/python"]) == 2
    printed, sentence = capsys.readouterr()
    assert json.loads(printed) == {"device": "a GPU", "workloads": [{"name": "gpu-base"}]}
    assert sentence.startswith("1 of 9: gpu-base\n2 of 9: gpu-seeds-1\n")
    assert "no engine" in sentence
    assert peers == [Path("there/python")] * 2


def test_attention_of_several_rows_in_half_precision():
    done = attention.prepare(16, rows=2, heads=3, dtype="bfloat16")
    for gradient in done.call():
        assert gradient.shape == (2, 3, 16, attention.WIDTH)
        assert gradient.dtype == jnp.bfloat16
        assert jnp.isfinite(gradient.astype(jnp.float32)).all()
    assert done.flops == 6 * attention.prepare(16, heads=1).flops


def test_each_length_has_as_many_tokens():
    for length in gpu.LENGTHS:
        peer = gpu.attention_workload(length).peer
        assert peer
        _, of, rows, heads, platform, dtype = peer
        assert int(of) * int(rows) == gpu.TOKENS
        assert (int(heads), platform, dtype) == (gpu.HEADS, "cuda", "bfloat16")
