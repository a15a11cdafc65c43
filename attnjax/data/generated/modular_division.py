"""Division modulo a prime: all pairs, a part of which is for training."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Lt

from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Corpus
from attnjax.data.generated.labeled_places import FIRST_ID, Drawn
from attnjax.data.generated.seeded import SeededTask, check_size
from attnjax.data.vocabularies import Vocabularies, joint
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError

DIVIDED, EQUALS = "/", "="
PLACE = 3
"""Of the word "=", where the quotient is asked for."""


@dataclass(frozen=True, kw_only=True)
class ModularDivision(SeededTask):
    """Learn the table of a / b modulo a prime p from a part of it: "a / b =" has the label c.

        c b = a (mod p),   a from 0 to p - 1,   b from 1 to p - 1

    Every pair is an example once: `train_share` of them, drawn by the seed, in train, one half of
    the others in valid, one in test. Words and labels share one vocabulary, and there is one label
    an example, at the last word, see `LabeledPlaces`: a `Labeler` learns them.

    Attributes:
        modulus: p.
        train_share: the share of the pairs that train.

    Raises:
        UserError: p is not prime, so that quotients are not unique, or a split has no example.

    Source: Power et al. 2022, section 2 and appendix A.1.1. There valid and test are one.
    """

    modulus: PositiveInt = 97
    train_share: Annotated[float, Gt(0), Lt(1)] = 0.5

    def load(self, vocabularies: Vocabularies | None = None) -> Corpus:
        p = self.modulus
        if p < 2 or any(p % divisor == 0 for divisor in range(2, int(p**0.5) + 1)):
            raise UserError(f"task.modulus must be a prime; got {p}")
        check_size(4 * p * (p - 1), f"task.modulus={p}")
        drawn = self._shuffled()
        first = round(self.train_share * len(drawn.sources))
        second = first + (len(drawn.sources) - first) // 2
        cuts = {"train": slice(first), "valid": slice(first, second), "test": slice(second, None)}
        splits = {
            split: Drawn(*(array[cut] for array in drawn)).examples() for split, cut in cuts.items()
        }
        if not all(splits.values()):
            raise UserError(
                f"task.train_share={self.train_share} of {len(drawn.sources)} pairs leaves a split "
                "without an example"
            )
        words = (*map(str, range(p)), DIVIDED, EQUALS)
        return Corpus(
            vocabularies=joint(WordVocabulary((*SPECIAL, *words))),
            splits=splits,
        )

    def _shuffled(self) -> Drawn:
        """Return all pairs, in an order that the seed draws."""
        p = self.modulus
        quotients, divisors = (x.reshape(-1) for x in np.mgrid[:p, 1:p])
        order = np.random.default_rng(self.seed or 0).permutation(len(divisors))
        quotients, divisors = quotients[order], divisors[order]
        divided, equals = np.full_like(divisors, p), np.full_like(divisors, p + 1)
        sources = np.stack([quotients * divisors % p, divided, divisors, equals], -1)
        places = np.full((len(divisors), 1), PLACE)
        return Drawn(FIRST_ID + sources, places, FIRST_ID + quotients[:, None])
