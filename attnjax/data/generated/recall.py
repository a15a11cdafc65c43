"""Which value came with a key: the task that attention is made for."""

from dataclasses import dataclass
from math import perm

import numpy as np

from attnjax.data.corpus import Corpus, Example, build
from attnjax.data.generated.sequences import Generated, check_at_least, cut
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class AssociativeRecall(Generated):
    """Pairs of a key and its value, then one of the keys: `k3 v7 k0 v2 k8 v7 k0` -> `v2`.

    No key occurs in two pairs, values may; each number of pairs is as probable as another, as long
    as it has examples left: none occurs twice, so none of test is in train. The answer comes from
    the place of its value, which is the gold alignment.

    Attributes:
        keys: how many different keys there are.
        values: how many different values.
        fewest: the least number of pairs in an example.
        most: the greatest.

    Source: Ba et al. 2016 (fast weights), section 4.1: `c9k8j3f1??c` -> `9`.
    """

    keys: int = 26
    values: int = 10
    fewest: int = 1
    most: int = 8

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        check_at_least(1, self, "keys", "values", "fewest", "train", "valid", "test")
        check_at_least(0, self, "seed")
        if not self.fewest <= self.most <= self.keys:
            raise UserError(
                f"task.most must be from task.fewest={self.fewest} to task.keys={self.keys}, "
                f"got {self.most}"
            )
        wanted = self.train + self.valid + self.test
        # a part of the sum tells whether there are enough
        possible = 0
        for pairs in range(self.fewest, self.most + 1):
            possible += perm(self.keys, pairs) * self.values**pairs * pairs
            if possible >= wanted:
                break
        else:
            raise UserError(
                f"{wanted:,} different examples were wanted (task.train, valid and test); "
                f"{self.keys} keys and {self.values} values in {self.fewest} to {self.most} pairs "
                f"make {possible:,}"
            )
        examples = self._examples(wanted)
        if vocabularies is None:
            keys = (f"k{number}" for number in range(self.keys))
            values = (f"v{number}" for number in range(self.values))
            vocabularies = joint(WordVocabulary((*SPECIAL, *keys, *values)))
        return build(cut(examples, self.train, self.valid), vocabularies, self.ids)

    def _examples(self, count: int) -> list[Example]:
        """So many different examples, drawn until there are enough."""
        generator = np.random.default_rng(self.seed)
        found: dict[str, Example] = {}
        while len(found) < count:
            pairs = generator.integers(self.fewest, self.most + 1, size=count)
            keys = generator.random((count, self.keys)).argsort(-1)
            values = generator.integers(self.values, size=(count, self.most))
            asked = generator.integers(pairs)
            for number, key, value, place in zip(pairs, keys, values, asked, strict=True):
                example = recall(key[:number].tolist(), value[:number].tolist(), int(place))
                found.setdefault(example.source, example)
        return list(found.values())[:count]


def recall(keys: list[int], values: list[int], asked: int) -> Example:
    """The example of these pairs that asks for the key at this place among them."""
    pairs = zip(keys, values, strict=True)
    words = [word for key, value in pairs for word in (f"k{key}", f"v{value}")]
    place = 2 * asked + 1
    return Example(" ".join([*words, words[place - 1]]), words[place], (frozenset((place,)),))
