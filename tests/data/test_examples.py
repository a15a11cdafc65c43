"""Flat arrays hold the examples that they were made of, and selections share them."""

import numpy as np
from hypothesis import given, strategies as st

from attnjax.data.examples import Encoded, Examples, Rows
from attnjax.data.special_tokens import PAD

rows = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=8)
ALIGNMENT = (frozenset({1}), frozenset())


@given(rows, st.data())
def test_the_examples_are_those_given(sources, data):
    targets = data.draw(st.lists(st.just([7, 2]), min_size=len(sources), max_size=len(sources)))
    encoded = [Encoded(*pair) for pair in zip(sources, targets, strict=True)]
    examples = Examples.of(iter(encoded))
    assert [*examples] == encoded
    assert Examples.of(examples) is examples
    assert examples.lengths.tolist() == [[len(e.source), len(e.target)] for e in encoded]
    part = slice(data.draw(st.integers(-9, 9)), data.draw(st.integers(-9, 9)), 2)
    assert [*examples[part]] == encoded[part]
    assert examples[part] == Examples.of(encoded[part])
    assert examples[part].source.values is examples.source.values


@given(rows, st.data())
def test_padded_rows_are_the_rows_then_padding(ids, data):
    flat = Examples.of(Encoded(row, []) for row in ids).source
    chosen = data.draw(st.lists(st.sampled_from(range(len(ids))))) if ids else []
    result = flat.padded(np.array(chosen, int), (len(chosen) + 2, 6))
    assert result.dtype == np.int32
    expected = [ids[index] + [PAD] * (6 - len(ids[index])) for index in chosen]
    assert result.tolist() == [*expected, [PAD] * 6, [PAD] * 6]
    assert [*flat.head(2)] == [row[:2] for row in ids]


def test_arrays_of_floats_and_alignments():
    points = [np.full((length, 2), length, np.float32) for length in (3, 1)]
    examples = Examples.of(Encoded(row, [2], ALIGNMENT) for row in points)
    np.testing.assert_array_equal(examples[1].source, points[1])
    assert examples[-1].alignment == ALIGNMENT
    padded = examples.source.padded(np.array([1]), (2, 3))
    assert padded.shape == (2, 3, 2)
    assert np.isnan(padded).sum() == 10


def test_other_numbers_of_bits_are_read_as_ids():
    small = Rows.cut(np.array([5, 6, 2], np.uint16), np.array([0, 1, 3]))
    assert small == Examples.of([Encoded([5], []), Encoded([6, 2], [])]).source
    assert small.padded(np.arange(2), (2, 2)).dtype == np.int32
