"""A task whose sources are shuffled."""

from dataclasses import dataclass, replace

import numpy as np

from attnjax.config.constraints import NonNegativeInt
from attnjax.data.corpus import ChangedTask, Corpus
from attnjax.data.examples import Encoded, Examples
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import Vocabulary
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Shuffled(ChangedTask):
    """The examples of a task, the symbols of each source in a random order, END still last.

    A symbol is a word, a subword or a character, as the vocabulary decides. Equal texts have equal
    orders, in every split; another seed gives other orders. It shows what a model can learn without
    the order.
    """

    seed: NonNegativeInt = 0

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        corpus = self.task.load(vocabularies)
        for split, examples in corpus.splits.items():
            if len(corpus.sources.get(split, ())) != len(examples):
                raise UserError(
                    f"Shuffled wants sources that are text; {type(self.task).__name__} has none in "
                    f"the {split} split"
                )
        splits = {
            split: Examples.of(map(self._shuffled, corpus.sources[split], examples))
            for split, examples in corpus.splits.items()
        }
        return replace(corpus, splits=splits)

    def ids(self, text: str, vocabulary: Vocabulary) -> list[int]:
        return self._move(text, super().ids(text, vocabulary))

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        words = super().words(text, vocabulary)
        return [words[old] for old in self._order(text, len(words))]

    def _shuffled(self, text: str, example: Encoded) -> Encoded:
        moved = example._replace(source=self._move(text, [*example.source]))
        if example.alignment is None:
            return moved
        new = np.argsort(self._order(text, len(example.source) - 1))
        alignment = (
            frozenset(int(new[position]) for position in origins) for origins in example.alignment
        )
        return moved._replace(alignment=tuple(alignment))

    def _move(self, text: str, ids: list[int]) -> list[int]:
        """Reorder the ids of a source; the last one, END, stays."""
        return [*(ids[old] for old in self._order(text, len(ids) - 1)), ids[-1]]

    def _order(self, text: str, length: int) -> np.ndarray:
        """Return the old position of each new one."""
        return np.random.default_rng([self.seed, *text.encode()]).permutation(length)
