"""Regular languages that count modulo a number: the strings with evenly many 1s, (aa)*, (abab)*.

After each symbol the label says whether the string may end there, 1.

Source: Bhattamishra et al. 2020, section 7, and their program's `parity_generator.py` and
`nonstarfree_generator.py`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.generated.counter_languages import NextSymbols


@dataclass(frozen=True, kw_only=True)
class Ending(NextSymbols):
    """Strings with the label 1 after a symbol if they may end there, else 0."""

    @property
    def label_words(self) -> tuple[str, ...]:
        return ("0", "1")


@dataclass(frozen=True, kw_only=True)
class EvenOnes(Ending):
    """Strings of 0s and 1s with evenly many 1s; those of a length are equally probable.

    The label is the parity of the symbols so far: every place asks what `Parity` asks at the end.

    Source: Bhattamishra et al. 2020, section 7, "Parity".
    """

    @property
    def source_words(self) -> tuple[str, ...]:
        return ("0", "1")

    def strings(self, generator: np.random.Generator, lengths: np.ndarray) -> np.ndarray:
        strings = generator.integers(2, size=(len(lengths), lengths.max()))
        last = np.arange(strings.shape[1]) == lengths[:, None] - 1
        others = np.where(np.arange(strings.shape[1]) < lengths[:, None] - 1, strings, 0)
        return np.where(last, others.sum(-1, keepdims=True) % 2, others)

    def after(self, strings: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return 1 - np.cumsum(strings, axis=-1) % 2


@dataclass(frozen=True, kw_only=True)
class Repeated(Ending):
    """A unit over and over, (aa)* or (abab)*: one string a length, which may end after each unit.

    Attributes:
        unit: what is repeated; lengths are multiples of its own.

    Source: Bhattamishra et al. 2020, section 7, (aa)* and (abab)*.
    """

    unit: Literal["aa", "abab"] = "aa"
    shortest: PositiveInt = 4

    @property
    def length_step(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.unit)

    @property
    def source_words(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.unit)))

    def strings(self, generator: np.random.Generator, lengths: np.ndarray) -> np.ndarray:
        unit = [self.source_words.index(letter) for letter in self.unit]
        return np.broadcast_to(np.resize(unit, lengths.max()), (len(lengths), lengths.max()))

    def after(self, strings: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        ends = (np.arange(1, strings.shape[1] + 1) % len(self.unit) == 0).astype(int)
        return np.broadcast_to(ends, strings.shape)
