"""Strings to write down again, at lengths beyond the trained ones: the whole answer at once.

The answer is asked for at empty symbols after the string, one for each of its symbols, and none of
its symbols is read: a network that attends in both directions gives all of it at once. Symbols are
drawn independently, and a string may be drawn more than once.

Source: Deletang et al. 2023, section 4 and appendix A, and their program's `training/utils.py`.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.generated.labeled_places import FIRST_ID, Drawn, LabeledPlaces
from attnjax.data.generated.regular_languages import EMPTY
from attnjax.data.special_tokens import PAD


@dataclass(frozen=True, kw_only=True)
class RewrittenString(LabeledPlaces):
    """Random symbols, then as many empty symbols as the answer has. Chance is 1 / symbols.

    Lengths are those of the string; a source is longer by the length of the answer.

    Attributes:
        symbols: the number of different symbols, which are 0, 1, ...
    """

    symbols: PositiveInt = 2

    @abstractmethod
    def origins(self, lengths: np.ndarray) -> np.ndarray:
        """Return where each symbol of the answers stands in its string, [N, K]; else -1.

        K is the length of the longest answer to strings of these lengths [N].
        """

    @property
    def source_words(self) -> tuple[str, ...]:
        return (*map(str, range(self.symbols)), EMPTY)

    @property
    def label_words(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.symbols)))

    def draw(self, generator: np.random.Generator, lengths: np.ndarray) -> Drawn:
        strings = generator.integers(self.symbols, size=(len(lengths), lengths.max()))
        origins, end = self.origins(lengths), lengths[:, None]
        asked = origins >= 0
        answers = np.take_along_axis(strings, np.where(asked, origins, 0), axis=-1)
        place = np.arange(strings.shape[1] + origins.shape[1])
        string = np.pad(FIRST_ID + strings, [(0, 0), (0, origins.shape[1])])
        after = np.where(place < end + asked.sum(-1, keepdims=True), FIRST_ID + self.symbols, PAD)
        return Drawn(
            sources=np.where(place < end, string, after),
            places=end + np.arange(origins.shape[1]),
            labels=np.where(asked, FIRST_ID + answers, PAD),
        )


@dataclass(frozen=True, kw_only=True)
class DuplicateString(RewrittenString):
    """The answer is the string, twice: 1 0 1 -> 1 0 1 1 0 1.

    Source: Deletang et al. 2023, `duplicate_string.py`.
    """

    def origins(self, lengths: np.ndarray) -> np.ndarray:
        place, length = np.arange(2 * lengths.max()), lengths[:, None]
        return np.where(place < 2 * length, place % length, -1)


@dataclass(frozen=True, kw_only=True)
class ReverseString(RewrittenString):
    """The answer is the string reversed: 0 1 1 -> 1 1 0.

    Source: Deletang et al. 2023, `reverse_string.py`.
    """

    def origins(self, lengths: np.ndarray) -> np.ndarray:
        return np.maximum(lengths[:, None] - 1 - np.arange(lengths.max()), -1)
