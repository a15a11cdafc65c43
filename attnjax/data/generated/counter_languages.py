"""Languages that counters recognize: brackets, Boolean expressions, blocks of one length.

After each symbol of a string the label says which symbols may follow it, or that the string may end
there. Bhattamishra et al. learn the same sets symbol by symbol, by a squared error.

Source: Bhattamishra et al. 2020, sections 4 to 7, and their program's `src/utils`.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Le

from attnjax.config.constraints import PositiveInt
from attnjax.data.generated.labeled_places import FIRST_ID, Drawn, LabeledPlaces
from attnjax.data.generated.seeded import check_size
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class NextSymbols(LabeledPlaces):
    """Strings of a language, with a label at every symbol: what may come after it."""

    @abstractmethod
    def strings(self, generator: np.random.Generator, lengths: np.ndarray) -> np.ndarray:
        """Draw strings of these lengths, numbers of `source_words` [N, S]; the rest is not read."""

    @abstractmethod
    def after(self, strings: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the label after each symbol of strings [N, S], as numbers of `label_words`."""

    def check(self) -> None:
        super().check()
        step = self.length_step
        if self.shortest % step:
            raise UserError(
                f"task.shortest must be a multiple of {step}, as every length is; got "
                f"{self.shortest}"
            )

    def draw(self, generator: np.random.Generator, lengths: np.ndarray) -> Drawn:
        strings = self.strings(generator, lengths)
        places = np.broadcast_to(np.arange(strings.shape[1]), strings.shape)
        present = places < lengths[:, None]
        labels = self.after(strings, lengths)
        return Drawn(
            sources=np.where(present, FIRST_ID + strings, PAD),
            places=places,
            labels=np.where(present, FIRST_ID + labels, PAD),
        )


@dataclass(frozen=True, kw_only=True)
class CounterLanguage(NextSymbols):
    """Strings whose symbols change counters that never fall below 0, and are all 0 at the end.

        counters_t = counters_{t-1} + step(symbol t)

    A symbol is drawn by its weight, given that the string has its length: of the strings of a
    length, each is as probable as the product of the weights of its symbols says.
    """

    start: ClassVar[int]
    """What every counter begins with."""

    ends_at_zero: ClassVar[bool]
    """Whether a string ends where its counters are 0; else it may go on."""

    @abstractmethod
    def steps(self) -> np.ndarray:
        """Return how each symbol changes the counters, integers [symbols, counters]."""

    @abstractmethod
    def weights(self) -> np.ndarray:
        """Return how probable each symbol is where all may come, [symbols]."""

    def check(self) -> None:
        super().check()
        longest, counters = max(self.longest, self.test_longest or 0), self.steps().shape[1]
        check_size(
            (longest + 2) ** (1 + counters),
            f"strings of {longest:,} symbols with {counters} counters",
        )

    def counters(self, strings: np.ndarray) -> np.ndarray:
        """Return the counters after each symbol of strings, [N, S, counters]."""
        return self.start + np.cumsum(self.steps()[strings], axis=1)

    def strings(self, generator: np.random.Generator, lengths: np.ndarray) -> np.ndarray:
        steps, weights, longest = self.steps(), self.weights(), int(lengths.max())
        finishing = self._finishing(longest)
        strings = np.zeros((len(lengths), longest), np.int64)
        counters = np.full((len(lengths), steps.shape[1]), self.start)
        for place in range(longest):
            left = np.maximum(lengths - place - 1, 0)
            after = counters[:, None] + steps
            # an index of -1 reads the table's last row, where nothing finishes
            ways = weights * finishing[(left[:, None], *np.moveaxis(after, -1, 0))]
            ways[lengths <= place] = weights
            upto = np.cumsum(ways, axis=-1)
            drawn = generator.random(len(lengths)) * upto[:, -1]
            strings[:, place] = (upto <= drawn[:, None]).sum(-1)
            reading = (lengths > place)[:, None]
            counters = np.where(reading, counters + steps[strings[:, place]], counters)
        return strings

    def _finishing(self, longest: int) -> np.ndarray:
        """Return how probable it is that counters are 0 after so many symbols, and not too early.

        The first axis is the number of symbols, each other one a counter.
        """
        steps, weights = self.steps(), self.weights()
        margin = int(abs(steps).max())
        most = self.start + longest + 1
        table = np.zeros((longest + 1, *(most + margin,) * steps.shape[1]))
        zero = (0,) * steps.shape[1]
        table[(0, *zero)] = 1
        for number in range(1, longest + 1):
            before = np.pad(table[number - 1], margin)
            for step, weight in zip(steps, weights, strict=True):
                shifted = tuple(slice(margin + s, before.shape[0] - margin + s) for s in step)
                table[number] += weight * before[shifted]
            # beyond what can fall to 0 in time, and where an index below 0 reads
            for axis in range(steps.shape[1]):
                np.moveaxis(table[number], axis, 0)[most:] = 0
            if self.ends_at_zero:
                table[(number, *zero)] = 0
        return table


@dataclass(frozen=True, kw_only=True)
class ShuffledBrackets(CounterLanguage):
    """Shuffle-k: brackets of k kinds, each kind balanced by itself: ( [ ) ].

    Every string of a length is equally probable. Any opening bracket may come next, and a closing
    one of each kind that is open: the label says which are, 01 the second kind alone.

    In the program of Bhattamishra et al. strings are drawn by the grammar of nested brackets, which
    gives a part of this language.

    Attributes:
        kinds: k.

    Source: Bhattamishra et al. 2020, definition 4.1.
    """

    start = 0
    ends_at_zero = False
    length_step = 2

    kinds: Annotated[PositiveInt, Le(3)] = 2
    shortest: PositiveInt = 2

    @property
    def source_words(self) -> tuple[str, ...]:
        return tuple("()[]{}"[: 2 * self.kinds])

    @property
    def label_words(self) -> tuple[str, ...]:
        return tuple(map("".join, product("01", repeat=self.kinds)))

    def steps(self) -> np.ndarray:
        return np.kron(np.eye(self.kinds, dtype=int), [[1], [-1]])

    def weights(self) -> np.ndarray:
        return np.full(2 * self.kinds, 0.5 / self.kinds)

    def after(self, strings: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return (self.counters(strings) > 0) @ (1 << np.arange(self.kinds)[::-1])


@dataclass(frozen=True, kw_only=True)
class BooleanExpression(CounterLanguage):
    """A Boolean expression, operators first, of one, two and three arguments: + ~ 0 1.

    A symbol is a value, 0 or 1, with the probability 1/2, else an operator: ~, + and > take one,
    two and three arguments, and are equally probable. After each symbol the label says whether the
    expression is whole, 1: it can end there, and nowhere else.

    Source: Bhattamishra et al. 2020, section 4.2, "n-ary Boolean expressions", n = 3, and their
    `boolean_expr_generator.py`; strings of a given length are as probable as theirs.
    """

    start = 1
    ends_at_zero = True

    @property
    def source_words(self) -> tuple[str, ...]:
        return ("0", "1", "~", "+", ">")

    @property
    def label_words(self) -> tuple[str, ...]:
        return ("0", "1")

    def steps(self) -> np.ndarray:
        return np.array([[-1], [-1], [0], [1], [2]])

    def weights(self) -> np.ndarray:
        return np.array([1 / 4, 1 / 4, 1 / 6, 1 / 6, 1 / 6])

    def after(self, strings: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return (self.counters(strings)[..., 0] == 0).astype(int)


@dataclass(frozen=True, kw_only=True)
class EqualBlocks(NextSymbols):
    """a^n b^n c^n: one string a length. The label is what may come next: ab, b, c, or end.

    Source: Bhattamishra et al. 2020, section 4, "Counter-3".
    """

    length_step = 3

    shortest: PositiveInt = 3

    @property
    def source_words(self) -> tuple[str, ...]:
        return ("a", "b", "c")

    @property
    def label_words(self) -> tuple[str, ...]:
        return ("ab", "b", "c", "end")

    def strings(self, generator: np.random.Generator, lengths: np.ndarray) -> np.ndarray:
        return np.minimum(np.arange(lengths.max()) // (lengths[:, None] // 3), 2)

    def after(self, strings: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        place, third = np.arange(strings.shape[1]), lengths[:, None] // 3
        # the last b and the last c are followed by what comes after their block
        return strings + ((place + 1) % third == 0) * (strings > 0)
