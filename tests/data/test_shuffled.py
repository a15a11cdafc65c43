"""A task whose sources lose their order, and nothing else."""

import pytest

from attnjax.data import Copy, Dates, NoisyFunction, Shuffled
from attnjax.errors import UserError

COPY = Copy(symbols=9, shortest=2, longest=7, train=50, valid=10, test=10)


def test_only_the_order_of_the_sources_changes():
    task, plain = Shuffled(task=COPY), COPY.load()
    corpus = task.load()
    moved = 0
    for split, examples in corpus.splits.items():
        assert corpus.sources[split] == plain.sources[split]
        for example, before, text in zip(
            examples, plain.splits[split], plain.sources[split], strict=True
        ):
            assert example.target == before.target
            assert example.source[-1] == before.source[-1]
            assert sorted(example.source) == sorted(before.source)
            moved += example.source != before.source
            # what a prediction of the same text reads
            assert task.ids(text, corpus.vocabularies.source) == example.source
            words = task.words(text, corpus.vocabularies.source)
            assert [*corpus.vocabularies.source.encode(" ".join(words))] == example.source[:-1]
    assert moved > 50
    again = Shuffled(task=COPY, seed=1).load()
    assert again.splits["train"] != corpus.splits["train"]
    assert task.load().splits == corpus.splits


def test_the_alignment_follows_the_symbols():
    dates = Dates(locales="en", formats="long", train=20, valid=5, test=5)
    corpus, plain = Shuffled(task=dates).load(), dates.load()
    for example, before in zip(corpus.splits["train"], plain.splits["train"], strict=True):
        assert before.alignment
        assert example.alignment
        assert before.alignment != example.alignment
        for new, old in zip(example.alignment, before.alignment, strict=True):
            assert sorted(example.source[place] for place in new) == sorted(
                before.source[place] for place in old
            )


def test_sources_that_are_no_text_are_refused():
    with pytest.raises(UserError, match="sources that are text; NoisyFunction has none"):
        Shuffled(task=NoisyFunction()).load()
