"""Parameters by their paths."""

from attnjax.nn.paths import flat, unflat


def test_flat_and_unflat_are_inverses():
    params = {"encoder": {"layers_0": {"kernel": 1, "bias": 2}}, "table": 3}
    assert flat(params) == {"encoder.layers_0.kernel": 1, "encoder.layers_0.bias": 2, "table": 3}
    assert unflat(flat(params)) == params
    assert flat({}) == unflat({}) == {}
