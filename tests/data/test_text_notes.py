"""Empty, repeated and remembered texts are counted; a test of remembered ones is refused."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, strategies as st

from attnjax.data.corpus import Corpus, Example, Task, build
from attnjax.data.generated.regression import NoisyFunction
from attnjax.data.loaded import Corpora
from attnjax.data.text_notes import text_notes
from attnjax.data.vocabularies import joint
from attnjax.data.vocabulary import Characters
from attnjax.errors import UserError

VOCABULARIES = joint(Characters().learn(["a b"]))


@dataclass(frozen=True, eq=False)
class Given(Task):
    """A task whose corpus is given."""

    corpus: Corpus

    def load(self, vocabularies=None) -> Corpus:
        return self.corpus


def corpus(train: Sequence[str], test: Sequence[str]) -> Corpus:
    splits = {"train": train, "test": test}
    return build(
        {name: [Example(text, "a") for text in texts] for name, texts in splits.items()},
        VOCABULARIES,
    )


TEXTS = st.lists(st.text("ab ", max_size=3), min_size=1, max_size=12)


@given(train=TEXTS, test=TEXTS)
def test_the_notes_count_what_loops_count(train, test):
    tested = len([text for text in test if any(text == other for other in train)])
    whole = corpus(train, test)
    if tested == len(test):
        with pytest.raises(UserError, match=f"^each of the {tested} test sources is one of the"):
            text_notes(whole)
        return
    counts = {
        f"{len(train)} train examples have an empty source or target": train.count("")
        + sum(text.isspace() for text in train),
        f"{len(train)} train examples repeat an earlier one": sum(
            text in train[:place] for place, text in enumerate(train)
        ),
        f"{len(test)} test examples have an empty source or target": sum(
            not text.strip() for text in test
        ),
        f"{len(test)} test sources are in the training split too: a model may remember their "
        "answers": tested,
    }
    expected = tuple(f"{count} of {rest}" for rest, count in counts.items() if count)
    assert text_notes(whole) == expected
    assert Corpora().of(Given(whole)).notes == expected
    counted = replace(whole, text_notes=("counted",))
    assert Corpora().of(Given(counted)).notes == ("counted",)


def test_sources_that_are_no_text_are_not_compared():
    assert text_notes(NoisyFunction().load()) == ()
