"""Max retrieval: an independent program finds every label; distributions; sizes in and beyond."""

from collections import Counter

import numpy as np
import pytest

from attnjax.data.generated.max_retrieval import MaxRetrieval
from attnjax.data.vocabulary import SPECIAL
from attnjax.errors import UserError

SMALL = MaxRetrieval(train=600, valid=20, test=30, classes=4, test_sizes=(16, 40, 300))


def label_by_loop(items: np.ndarray) -> int:
    """The class of the greatest priority, item by item."""
    best, found = -1.0, -1
    for priority, *classes in items.tolist():
        assert sorted(classes) == [0] * (len(classes) - 1) + [1]
        if priority > best:
            best, found = priority, classes.index(1)
    return found


def test_the_label_is_the_class_of_the_highest_priority():
    corpus = SMALL.load()
    assert corpus.vocabularies.sizes == (None, len(SPECIAL) + 4)
    for split, examples in corpus.splits.items():
        assert len(examples) == getattr(SMALL, split)
        for example, reference in zip(examples, corpus.references[split], strict=True):
            label = label_by_loop(example.source)
            assert example.target == [len(SPECIAL) + label]
            assert corpus.vocabularies.target.decode(example.target) == reference == str(label)


def test_sizes_are_in_range_and_in_the_test_also_beyond_it():
    corpus = MaxRetrieval(train=6_000, valid=50, test=12).load()
    sizes = Counter(corpus.splits["train"].source.lengths.tolist())
    assert sorted(sizes) == [*range(5, 17)]
    # 6,000 in 12 classes: the deviation of a count is 21
    assert max(abs(count - 500) for count in sizes.values()) < 100
    assert corpus.splits["valid"].source.lengths.max() <= 16
    assert (
        corpus.splits["test"].source.lengths.tolist()
        == np.repeat([16, 512, 1_024, 2_048], 3).tolist()
    )


def test_priorities_and_classes_are_uniform_and_labels_are_at_chance():
    examples = MaxRetrieval(train=4_000, valid=1, test=4).load().splits["train"]
    items = examples.source.values
    assert items.dtype == np.float32
    quantiles = np.quantile(items[:, 0], [0.0, 0.25, 0.5, 0.75, 1.0])
    assert quantiles == pytest.approx([0, 0.25, 0.5, 0.75, 1], abs=0.02)
    assert items[:, 1:].mean(0) == pytest.approx([0.1] * 10, abs=0.01)
    # no class is right more often than the others: an answer without the set is at chance
    labels = Counter(np.concatenate([example.target for example in examples]).tolist())
    assert [labels[number] / 4_000 for number in sorted(labels)] == pytest.approx(
        [0.1] * 10, abs=0.02
    )


def test_the_seed_decides_and_splits_are_independent():
    more = MaxRetrieval(train=700, valid=20, test=30, classes=4, test_sizes=(16, 40, 300)).load()
    first, other = SMALL.load(), SMALL.of_seed(1).load()
    for split in ("valid", "test"):
        assert first.splits[split].source == more.splits[split].source
        assert first.digest(split) == more.digest(split) != other.digest(split)
    assert first.digest("train") != more.digest("train")
    assert SMALL.of_seed(1).of_seed(2) == SMALL.of_seed(1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"fewest": 9, "most": 8}, "task.most must be at least task.fewest=9, got 8"),
        ({"test": 10, "test_sizes": (3, 4, 5)}, "got 10 examples of 3 sizes"),
        ({"test_sizes": ()}, "got 2000 examples of 0 sizes"),
    ],
)
def test_fields_that_contradict(fields, message):
    with pytest.raises(UserError, match=message):
        MaxRetrieval(**fields).load()


def test_more_classes_than_memory_holds_are_refused():
    with pytest.raises(UserError, match="items of task.classes=30000000 classes would draw"):
        MaxRetrieval(classes=30_000_000).load()
