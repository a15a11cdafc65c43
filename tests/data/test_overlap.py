"""Test sources that training has are counted; a test of nothing else is refused.

Empty texts and repeated pairs are counted, too.
"""

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from attnjax.data.corpus import Corpus, Example, build
from attnjax.data.generated.regression import NoisyFunction
from attnjax.data.overlap import with_overlap, with_text_notes
from attnjax.data.vocabularies import joint
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError

VOCABULARIES = joint(SplitWords().learn(["a b"]))


def corpus(train: Sequence[str], test: Sequence[str]) -> Corpus:
    splits = {"train": train, "test": test}
    return build(
        {name: [Example(text, "a") for text in texts] for name, texts in splits.items()},
        VOCABULARIES,
    )


TEXTS = st.lists(st.text("ab ", max_size=3), min_size=1, max_size=12)


@given(train=TEXTS, test=TEXTS)
def test_the_note_counts_what_a_loop_counts(train, test):
    count = len([one for one in test if any(one == other for other in train)])
    whole = corpus(train, test)
    if count == len(test):
        with pytest.raises(UserError, match=f"^each of the {count} test sources is one of the"):
            with_overlap(whole)
    elif count:
        (note,) = with_overlap(whole).notes
        assert note.startswith(f"{count} of {len(test)} test sources are in the training split too")
    else:
        assert with_overlap(whole) is whole


def test_sources_that_are_no_text_are_not_compared():
    whole = NoisyFunction().load()
    assert with_overlap(whole) is whole


@given(train=TEXTS, test=TEXTS)
def test_empty_and_repeated_texts_are_counted_as_a_loop_counts(train, test):
    whole = corpus(train, [f"z{text}" for text in test])
    repeated = sum(text in train[:place] for place, text in enumerate(train))
    empty = sum(not text.strip() for text in train)
    count = len(train)
    assert list(with_text_notes(whole).notes) == [
        *([f"{empty} of {count} train examples have an empty source or target"] if empty else []),
        *([f"{repeated} of {count} train examples repeat an earlier one"] if repeated else []),
    ]
