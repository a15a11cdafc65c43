"""Tasks of labels at places: lengths, splits, arrays, digests, and what is refused."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.examples import Encoded, Examples
from attnjax.data.generated.labeled_places import FIRST_ID, Drawn, LabeledPlaces, distinct
from attnjax.data.packed import Packed
from attnjax.data.special_tokens import PAD
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Largest(LabeledPlaces):
    """A task for tests: the larger of both letters so far, at the first word and at the last."""

    length_step = 3

    @property
    def source_words(self):
        return ("a", "b")

    @property
    def label_words(self):
        return ("only a", "some b")

    def draw(self, generator, lengths):
        words = generator.integers(2, size=(len(lengths), int(lengths.max())))
        words[np.arange(words.shape[1]) >= lengths[:, None]] = -FIRST_ID
        last = lengths - 1
        labels = np.stack([words[:, 0], words.max(1)], -1)
        labels[lengths == 1, 1] = PAD - FIRST_ID  # the first word is the last
        return Drawn(FIRST_ID + words, np.stack([0 * last, last], -1), FIRST_ID + labels)


SMALL = Largest(train=400, valid=50, test=61, longest=9, test_longest=20, test_every=2, seed=3)


def test_lengths_are_those_of_training_and_each_beyond_equally_often():
    corpus = SMALL.load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 400,
        "valid": 50,
        "test": 61,
    }
    lengths = {
        name: Counter(split.source.lengths.tolist()) for name, split in corpus.splits.items()
    }
    assert set(lengths["train"]) == set(lengths["valid"]) == {1, 4, 7}
    assert all(abs(count - 400 / 3) < 40 for count in lengths["train"].values())
    assert SMALL.lengths_beyond.tolist() == [13, 19]
    assert lengths["test"][13] == lengths["test"][19] == 15
    assert sum(lengths["test"][length] for length in (1, 4, 7)) == 31
    # the longest trained length is none beyond, though the step meets it
    at_the_end = replace(SMALL, longest=7, test_longest=13)
    assert at_the_end.lengths_beyond.tolist() == [13]


def test_examples_are_arrays_without_padding_and_labels_have_a_vocabulary_of_their_own():
    corpus = SMALL.load()
    words, labels = corpus.vocabularies
    for example in corpus.splits["test"]:
        text = words.tokens(example.source)
        assert set(text) <= {"a", "b"}
        places = [0, len(text) - 1][: len(text)]
        wanted = ["some b" if "b" in text[: place + 1] else "only a" for place in places]
        assert example.target.dtype == np.int32
        assert example.target[:, 0].tolist() == places
        assert labels.tokens(example.target[:, 1]) == wanted


def test_a_batch_pads_places_and_labels_with_pad():
    plan = Batching(max_tokens=64, shapes=1, batch_size_multiple=1).plan(
        SMALL.load().splits["test"]
    )
    rows = [batch for _, batch in plan.in_order()]
    batch = rows[0]
    assert (batch.source.dtype, batch.target.dtype) == (np.int32, np.int32)
    assert batch.target.shape == (len(batch.source), 2, 2)
    one_word = (batch.source != PAD).sum(1) == 1
    assert one_word.any()
    assert (batch.target[one_word, 1] == PAD).all()
    filler = (batch.source == PAD).all(1)
    assert (batch.target[filler] == PAD).all()


def test_the_seed_and_the_fields_decide_and_every_digest_tells_them_apart():
    one, same, other = SMALL.load(), SMALL.load(), SMALL.of_seed(4).load()
    assert one == same == other  # its own seed is not the run's
    drawn = [Largest(train=9, valid=5, test=4, longest=4).of_seed(seed).load() for seed in (0, 1)]
    assert drawn[0] != drawn[1]
    for split in ("train", "valid", "test"):
        assert one.digest(split) == same.digest(split) != drawn[0].digest(split)
    assert drawn[0].digest("train") != drawn[1].digest("train")


@pytest.mark.parametrize("change", ["word", "place", "label", "border", "order"])
def test_one_changed_number_changes_the_digest(change):
    corpus = SMALL.load()
    before = Examples.of(list(corpus.splits["valid"]))
    rows = [Encoded([*source], target.copy()) for source, target, _ in before]
    assert before.target.values.dtype == np.int32
    match change:
        case "word":
            rows[3].source[0] = 9 - rows[3].source[0]  # 4 and 5
        case "place":
            rows[3].target[0, 0] += 1
        case "label":
            rows[3].target[0, 1] += 1
        case "border":  # the same numbers one after the other
            long = next(n for n, row in enumerate(rows[:-1]) if len(row.source) > 1)
            rows[long + 1].source.insert(0, rows[long].source.pop())
        case "order":
            rows.reverse()
    object.__setattr__(corpus, "splits", {"old": before, "new": Examples.of(rows)})
    assert corpus.digest("old") != corpus.digest("new")


def test_a_hundred_thousand_examples_are_drawn_as_arrays():
    corpus = Largest(train=100_000, longest=40).load()
    assert corpus.splits["train"].source.values.dtype == np.int32
    assert corpus.splits["train"].ask_at_places


def test_distinct_numbers_have_every_order_equally_often():
    drawn = distinct(np.random.default_rng(0), 24_000, 4, 3)
    counts = Counter(map(tuple, drawn.tolist()))
    assert set(counts) == set(permutations(range(4), 3))
    # 1,000 each, with a standard deviation of 31
    assert max(abs(count - 1000) for count in counts.values()) < 140


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"shortest": 5, "longest": 4}, r"task.longest must be at least task.shortest=5, got 4"),
        ({"longest": 8, "test_longest": 8}, r"test_longest must .* above task.longest=8, got 8"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(fields, message):
    with pytest.raises(UserError, match=message):
        Largest(**fields).load()


def test_another_vocabulary_and_packed_rows_are_refused():
    words = WordVocabulary((*SPECIAL, "c"))
    with pytest.raises(UserError, match="a Largest has words of its own, and takes no other"):
        SMALL.load(Vocabularies(words, words))
    assert SMALL.load(SMALL.load().vocabularies) == SMALL.load()
    packed = Packed(max_tokens=1024, length=64)
    with pytest.raises(UserError, match="the task's targets are labels at places of a source"):
        packed.plan(SMALL.load().splits["train"])
