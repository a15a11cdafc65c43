"""Slices of chips by their names."""

import pytest

from attnjax.errors import UserError
from attnjax.lab.rehearsal import CHIPS, Topology, chips


@pytest.mark.parametrize("name, count", [("v5e:2x4", 8), ("v5p:4x4x4", 64), ("h100:8", 8)])
def test_a_slice_by_its_name(name, count):
    found = Topology.named(name)
    assert (found.name, found.count) == (name, count)
    assert found.chip is CHIPS[name.partition(":")[0]]


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
