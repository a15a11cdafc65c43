"""How far an estimate may lie from the truth, over seeds or over seeds and sentences."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from attnjax.evaluation.sentence_stats import Sentences
from attnjax.evaluation.statistics import Interval, bootstrap_variance, seeds_and_sentences_interval


class Spread(NamedTuple):
    """How far an estimate may lie from the truth.

    Attributes:
        basis: the samples that the interval is over: "seeds", or "seeds and sentences".
        at: the interval by its confidence.
    """

    basis: str
    at: Callable[[float], Interval]


type Pair = tuple[Sentences, Sentences]
"""The sentences of the better and of the worse variant."""


def gaps(pair: Pair, groups: Sequence[np.ndarray]) -> list[float]:
    """The better variant's score minus the worse one's, for each group of indices."""
    better, worse = pair
    return [better.at(places).value() - worse.at(places).value() for places in groups]


def over_sentences(
    pairs: Sequence[Pair],
    groups: Callable[[Sentences], list[np.ndarray]],
    of: Callable[[list[float]], float],
) -> Spread | None:
    """The spread over seeds and sentences of a difference; None: the seeds' sentences differ.

    There is a pair for each seed. `groups` gives the indices of the sentences that are resampled
    together, and `of` the estimand from the gap of each group.
    """
    every = [sentences for pair in pairs for sentences in pair]
    if not every or not all(map(every[0].comparable, every)):
        return None
    own = groups(every[0])
    if min(map(len, own)) < 2:
        return None

    def mean(*drawn: np.ndarray) -> float:
        places = [group[which] for group, which in zip(own, drawn, strict=True)]
        return sum(of(gaps(pair, places)) for pair in pairs) / len(pairs)

    sizes = [*map(len, own)]
    values, variance = [of(gaps(pair, own)) for pair in pairs], bootstrap_variance(sizes, mean)
    return Spread(
        "seeds and sentences", partial(seeds_and_sentences_interval, values, variance, min(sizes))
    )
