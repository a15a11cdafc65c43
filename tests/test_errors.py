"""Pieces of the sentences that a user reads."""

from attnjax.errors import named


def test_a_sentence_names_a_few():
    assert named("abc") == "a, b, c"
    assert named((str(n) for n in range(8)), most=3) == "0, 1, 2 and 5 more"
