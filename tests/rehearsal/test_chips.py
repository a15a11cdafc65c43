"""Slices of chips by their names."""

import pytest

from attnjax.errors import UserError
from attnjax.rehearsal import CHIPS, Topology, chips


@pytest.mark.parametrize("name, count", [("v5e:2x4", 8), ("v5p:4x4x4", 64), ("h100:8", 8)])
def test_a_slice_by_its_name(name, count):
    found = Topology.named(name)
    assert (found.name, found.count) == (name, count)
    assert found.chip is CHIPS[name.partition(":")[0]]


@pytest.mark.parametrize(
    "name, accelerator, hosts",
    [
        ("v4:2x2x1", "tpu-v4-8", 1),
        ("v4:2x2x4", "tpu-v4-32", 4),
        ("v5e:1x1", "tpu-v5litepod-1", 1),
        ("v5e:2x4", "tpu-v5litepod-8", 1),
        ("v5e:4x4", "tpu-v5litepod-16", 4),
        ("v5p:2x2x2", "tpu-v5p-16", 2),
        ("v6e:16x16", "tpu-v6e-256", 64),
        ("a100:4", "A100-80GB:4", 1),
        ("h100:8", "H100:8", 1),
    ],
)
def test_a_slice_as_clouds_call_it(name, accelerator, hosts):
    """https://cloud.google.com/tpu/docs: of v4 and v5p the number counts cores."""
    chips = Topology.named(name)
    assert (chips.accelerator, chips.hosts) == (accelerator, hosts)
    assert (chips.chip.runtime is None) == (chips.chip.platform == "cuda")


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("h10:8", "unknown chip 'h10'; did you mean h100"),
        ("tpu", "unknown chip 'tpu'; choose from a100, h100, v4, v5e, v5p, v6e"),
        ("v5e:3x3", "unknown topology 'v5e:3x3'; TPU v5e has v5e:1x1, v5e:2x2, v5e:2x4"),
        ("v5e", "unknown topology 'v5e'"),
        ("h100:16", "NVIDIA H100 has h100:1, h100:2, h100:4, h100:8"),
    ],
)
def test_an_unknown_slice_names_the_known(name, sentence):
    with pytest.raises(UserError, match=sentence):
        Topology.named(name)


def test_a_compiler_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(chips, "find_spec", lambda name: None)
    with pytest.raises(
        UserError,
        match=r"needs its compiler, libtpu: in a checkout of attnjax, pip install '.\[rehe",
    ):
        Topology.named("v5e:2x4").devices()
