"""Regular languages at lengths that grow, which a network answers with a handful of states.

Those with a label at the end: parity, even pairs, a walk on a circle, arithmetic. Symbols are drawn
independently, each as often as the others, and a string may be drawn more than once. In the program
of Deletang et al. all strings of a batch have one length; here their lengths differ, and the
shorter ones are padded.

Those that count modulo a number: the strings with evenly many 1s, (aa)*, (abab)*. After each symbol
the label says whether the string may end there, 1.

Source: Deletang et al. 2023, section 4 and appendix A, and their program's `tasks/regular`;
Bhattamishra et al. 2020, section 7, and their program's `parity_generator.py` and
`nonstarfree_generator.py`.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.generated.counter_languages import NextSymbols
from attnjax.data.generated.labeled_places import FIRST_ID, Drawn, LabeledPlaces
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError

EMPTY = "?"
"""The symbol that stands where an answer is wanted and nothing is said."""


@dataclass(frozen=True, kw_only=True)
class RegularLanguage(LabeledPlaces):
    """Strings that each have one label, which is asked for at their end.

    Attributes:
        asked: where the label is asked for: at an empty symbol after the string, as in Deletang et
            al., or at its last symbol, as in Grazzi et al. 2025. Lengths do not count the empty
            symbol.
    """

    asked: Literal["after", "last"] = "after"

    symbols: ClassVar[tuple[str, ...]]
    values: ClassVar[tuple[str, ...]]
    """The labels."""

    @abstractmethod
    def label(self, symbols: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return the labels [N] of strings [N, L], of which only what is present counts.

        Symbols and labels are their numbers in `symbols` and `values`.
        """

    def strings(self, generator: np.random.Generator, count: int, longest: int) -> np.ndarray:
        """Draw strings [N, L], of which the shorter ones use the first symbols."""
        return generator.integers(len(self.symbols), size=(count, longest))

    @property
    def source_words(self) -> tuple[str, ...]:
        return self.symbols if self.asked == "last" else (*self.symbols, EMPTY)

    @property
    def label_words(self) -> tuple[str, ...]:
        return self.values

    def draw(self, generator: np.random.Generator, lengths: np.ndarray) -> Drawn:
        end, place = lengths[:, None], np.arange(lengths.max() + 1)
        strings = self.strings(generator, len(lengths), len(place) - 1)
        labels = FIRST_ID + self.label(strings, place[:-1] < end)[:, None]
        sources = np.pad(FIRST_ID + strings, [(0, 0), (0, 1)])
        if self.asked == "last":
            return Drawn(np.where(place < end, sources, PAD), end - 1, labels)
        empty = np.where(place == end, FIRST_ID + len(self.symbols), PAD)
        return Drawn(np.where(place < end, sources, empty), end, labels)


@dataclass(frozen=True, kw_only=True)
class Parity(RegularLanguage):
    """Whether the number of 1s in a string of 0s and 1s is odd. Chance is 0.5, at any length.

    Every symbol matters, and no part of the string says anything by itself.

    Source: Deletang et al. 2023, `parity_check.py`; Grazzi et al. 2025, section 5.1.
    """

    symbols = ("0", "1")
    values = ("0", "1")

    def label(self, symbols: np.ndarray, present: np.ndarray) -> np.ndarray:
        return (symbols * present).sum(-1) % 2


@dataclass(frozen=True, kw_only=True)
class EvenPairs(RegularLanguage):
    """Whether the number of pairs 01 and 10 in a string is odd. Chance is 0.5 from two symbols on.

    Each pair is a change of the symbol, so the label says whether the first and the last symbol
    differ; nothing between them matters. A single symbol has the label 0.

    Source: Deletang et al. 2023, `even_pairs.py`.
    """

    symbols = ("0", "1")
    values = ("0", "1")

    def label(self, symbols: np.ndarray, present: np.ndarray) -> np.ndarray:
        last = present.sum(-1, keepdims=True) - 1
        return (symbols[:, :1] != np.take_along_axis(symbols, last, axis=-1))[:, 0].astype(int)


@dataclass(frozen=True, kw_only=True)
class CycleNavigation(RegularLanguage):
    """Where a walk on a circle of five places ends that begins at 0. Chance is 0.2 at long lengths.

    A symbol is a step: -1, 0 or 1. After n steps the probability of each place is within
    0.54^n of 0.2.

    Source: Deletang et al. 2023, `cycle_navigation.py`.
    """

    symbols = ("-1", "0", "1")
    values = ("0", "1", "2", "3", "4")

    def label(self, symbols: np.ndarray, present: np.ndarray) -> np.ndarray:
        return ((symbols - 1) * present).sum(-1) % len(self.values)


@dataclass(frozen=True, kw_only=True)
class ModularArithmetic(RegularLanguage):
    """The value modulo 5 of numbers with +, - and * between them: 1 + 2 * 3 -> 2; no brackets.

    Multiplication comes before the others, which are done from left to right. Lengths are odd. In
    short strings 0 is the most probable value, in long ones chance is 0.2.

    Source: Deletang et al. 2023, `modular_arithmetic.py`, there "Modular Arithmetic (Simple)".
    """

    symbols = ("0", "1", "2", "3", "4", "+", "-", "*")
    values = ("0", "1", "2", "3", "4")
    length_step = 2

    def check(self) -> None:
        super().check()
        if self.shortest % 2 == 0:
            raise UserError(
                "task.shortest must be odd, numbers with operators between them; got "
                f"{self.shortest}"
            )

    def strings(self, generator: np.random.Generator, count: int, longest: int) -> np.ndarray:
        numbers = len(self.values)
        strings = generator.integers(numbers, size=(count, longest))
        operators = generator.integers(numbers, len(self.symbols), size=(count, longest // 2))
        strings[:, 1::2] = operators
        return strings

    def label(self, symbols: np.ndarray, present: np.ndarray) -> np.ndarray:
        plus, minus, times = (self.symbols.index(operator) for operator in "+-*")
        modulus = len(self.values)
        # what is not present reads as + 0
        symbols = np.where(present, symbols, np.where(np.arange(symbols.shape[1]) % 2, plus, 0))
        total, product = np.zeros_like(symbols[:, 0]), symbols[:, 0]
        for place in range(1, symbols.shape[1] - 1, 2):
            operator, number = symbols[:, place], symbols[:, place + 1]
            total = np.where(operator == times, total, total + product)
            signed = np.where(operator == minus, -number, number)
            product = np.where(operator == times, product * number, signed) % modulus
        return (total + product) % modulus


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
