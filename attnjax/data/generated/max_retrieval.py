"""Sets of items with priorities: which class has the item of the highest priority?"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Corpus, ExampleCount
from attnjax.data.examples import Examples, Rows
from attnjax.data.generated.seeded import SeededTask, check_size
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SPECIAL, LabelVocabulary
from attnjax.errors import UserError

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, kw_only=True)
class MaxRetrieval(SeededTask):
    """Name the class of the item with the highest priority in a set.

        priority ~ U(0, 1),   class ~ U{0, ..., classes - 1},   for each item by itself

    The source of an example are its items, float32 [items, 1 + classes]: the priority, then a one
    at the class. The target is a label, without END. Sets of train and valid have `fewest` to
    `most` items, all numbers equally probable; test has equally many sets of each of `test_sizes`,
    which may be far larger: in range and beyond it. The splits are drawn independently. Nothing is
    decoded.

    Attributes:
        train: the number of training examples; valid and test likewise.

    Raises:
        UserError: `most` is below `fewest`, no size is given, or the sizes cannot have equally many
            test examples.

    Source: Velickovic et al. 2024, section 3 and appendix A.
    """

    train: ExampleCount = 10_000
    valid: ExampleCount = 1_000
    test: ExampleCount = 2_000
    classes: PositiveInt = 10
    fewest: PositiveInt = 5
    most: PositiveInt = 16
    test_sizes: tuple[PositiveInt, ...] = (16, 512, 1_024, 2_048)

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        if self.most < self.fewest:
            raise UserError(
                f"task.most must be at least task.fewest={self.fewest}, got {self.most}"
            )
        if not self.test_sizes or self.test % len(self.test_sizes):
            raise UserError(
                "task.test must be a multiple of the number of task.test_sizes, at least one; got "
                f"{self.test} examples of {len(self.test_sizes)} sizes"
            )
        items = max(max(self.train, self.valid) * self.most, self.test * max(self.test_sizes))
        check_size(
            items * (1 + self.classes), f"{items:,} items of task.classes={self.classes} classes"
        )
        names = [str(number) for number in range(self.classes)]
        target = LabelVocabulary((*SPECIAL, *names))
        splits, references = {}, {}
        for number, split in enumerate(SPLITS):
            splits[split], labels = self._examples(number)
            references[split] = [names[label] for label in labels]
        return Corpus(vocabularies=Vocabularies(None, target), splits=splits, references=references)

    def _examples(self, number: int) -> tuple[Examples, np.ndarray]:
        """Draw the examples of a split, given by its number, and return their labels, too."""
        generator = np.random.default_rng([self.seed or 0, number])
        count, split = getattr(self, SPLITS[number]), SPLITS[number]
        if split == "test":
            sizes = np.repeat(self.test_sizes, count // len(self.test_sizes))
        else:
            sizes = generator.integers(self.fewest, self.most + 1, size=count)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        priorities = generator.random(offsets[-1], np.float32)
        classes = generator.integers(self.classes, size=offsets[-1])
        items = np.zeros((offsets[-1], 1 + self.classes), np.float32)
        items[:, 0] = priorities
        items[np.arange(len(items)), 1 + classes] = 1
        first = [start + priorities[start:stop].argmax() for start, stop in pairwise(offsets)]
        labels = classes[first]
        targets = (labels + len(SPECIAL)).astype(np.int32)
        return Examples(Rows.cut(items, offsets), Rows.cut(targets, np.arange(count + 1))), labels
