"""Parameters by their paths."""

from attnjax.nn.paths import flat, named, unflat


def test_flat_and_unflat_are_inverses():
    params = {"encoder": {"layers_0": {"kernel": 1, "bias": 2}}, "table": 3}
    assert flat(params) == {"encoder.layers_0.kernel": 1, "encoder.layers_0.bias": 2, "table": 3}
    assert unflat(flat(params)) == params
    assert flat({}) == unflat({}) == {}


def test_a_sentence_names_a_few():
    assert named("abc") == "a, b, c"
    assert named((str(n) for n in range(8)), most=3) == "0, 1, 2 and 5 more"
