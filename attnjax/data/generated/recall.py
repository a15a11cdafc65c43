"""Recall of several pairs of a key and a value at once."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from attnjax.config.constraints import PositiveFloat, PositiveInt
from attnjax.data.generated.labeled_places import (
    FIRST_ID,
    Drawn,
    LabeledPlaces,
    Length,
    distinct,
)
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class MultiQueryRecall(LabeledPlaces):
    """Pairs of a key and its value, then every key once more, at which its value is asked.

        k3 v7 k1 v2 - - k1 - k3 - - -    asks for v2 at the place 6, and for v7 at the place 8

    Half of the words, but one, are keys, the others values; in an example keys differ, and values
    do. After the 2 `pairs` words of the pairs there are (length - 2 `pairs`) / 2 places for keys,
    at every second word; place g, counted from 1, has the weight g^(power - 1), and the keys, in
    the order of their pairs, take places that are drawn one after the other without replacement:
    keys are mostly asked soon after the pairs. All other words are "-". Only as many values can be
    right as there are: chance is one in `pairs` for a model that knows the values alone.

    Attributes:
        symbols: the size of the vocabulary: "-", keys and values.
        power: the exponent of the power law of the gaps.

    Source: Arora et al. 2023 (Zoology), section 3.2 and Figure 2, whose sizes are the default; the
    details are those of the authors' program, `zoology/data/multiquery_ar.py`.
    """

    length_step = 2

    symbols: Annotated[PositiveInt, Ge(4), Le(1_000_000)] = 8192
    pairs: PositiveInt = 4
    power: PositiveFloat = 0.01
    shortest: Length = 64
    longest: Length = 64

    @property
    def source_words(self) -> tuple[str, ...]:
        keys = (f"k{number}" for number in range(self._keys))
        values = (f"v{number}" for number in range(self.symbols - 1 - self._keys))
        return ("-", *keys, *values)

    @property
    def _keys(self) -> int:
        return self.symbols // 2 - 1

    def check(self) -> None:
        super().check()
        if self.pairs > self._keys:
            raise UserError(
                f"task.pairs must be at most the {self._keys} keys of task.symbols="
                f"{self.symbols}, got {self.pairs}"
            )
        if self.shortest % 2 or self.shortest < 4 * self.pairs:
            raise UserError(
                f"task.shortest must be even and at least 4 task.pairs={4 * self.pairs}, "
                f"got {self.shortest}"
            )

    def draw(self, generator: np.random.Generator, lengths: np.ndarray) -> Drawn:
        count, pairs = len(lengths), self.pairs
        keys = FIRST_ID + 1 + distinct(generator, count, self._keys, pairs)
        values = self.symbols - 1 - self._keys
        labels = FIRST_ID + 1 + self._keys + distinct(generator, count, values, pairs)
        places = 2 * pairs + 2 * self._gaps(generator, (lengths - 2 * pairs) // 2)
        longest = int(lengths.max())
        sources = np.full((count, longest), FIRST_ID)
        sources[:, : 2 * pairs : 2], sources[:, 1 : 2 * pairs : 2] = keys, labels
        np.put_along_axis(sources, places, keys, axis=1)
        sources[np.arange(longest) >= lengths[:, None]] = 0
        return Drawn(sources, places, labels)

    def _gaps(self, generator: np.random.Generator, room: np.ndarray) -> np.ndarray:
        """Draw for each example `pairs` different gaps below its room, by the power law.

        Drawing without replacement by weights w is taking the largest of log w + Gumbel noise
        (Efraimidis and Spirakis 2006), in their order.
        """
        gap = np.arange(1, int(room.max()) + 1)
        noisy = (self.power - 1) * np.log(gap) + generator.gumbel(size=(len(room), len(gap)))
        noisy[gap > room[:, None]] = -np.inf
        return np.argsort(-noisy, axis=1)[:, : self.pairs]
