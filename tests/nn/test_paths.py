"""Parameters by their paths."""

from hypothesis import given, strategies as st

from attnjax.nn.paths import flat, unflat


def test_flat_and_unflat_are_inverses():
    params = {"encoder": {"layers_0": {"kernel": 1, "bias": 2}}, "table": 3}
    assert flat(params) == {"encoder.layers_0.kernel": 1, "encoder.layers_0.bias": 2, "table": 3}
    assert unflat(flat(params)) == params
    assert flat({}) == unflat({}) == {}


@given(names=st.lists(st.text("ab.%2E5", min_size=1), min_size=1, unique=True))
def test_names_may_have_dots(names):
    params = {name: {other: number} for number, name in enumerate(names) for other in names[:1]}
    assert unflat(flat(params)) == params
    assert flat({"block.0": {"kernel": 1}}) == {"block%2E0.kernel": 1}
    assert len(flat({"a": {"b": 1}, "a.b": 2})) == 2
