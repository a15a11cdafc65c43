"""How far an estimate may lie from the truth, over seeds or over seeds and sentences."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from attnjax.evaluation.sentence_stats import Sentences
from attnjax.evaluation.statistics import (
    Interval,
    bootstrap_variance,
    seeds_and_sentences_interval,
)


class Spread(NamedTuple):
    """How far an estimate may lie from the truth.

    Attributes:
        basis: the samples that the interval is over: "seeds", or "seeds and sentences".
        at: the interval by its confidence, the share of such intervals that hold the truth.
    """

    basis: str
    at: Callable[[float], Interval]


def over_sentences(
    pairs: Sequence[tuple[Sentences, Sentences]],
    groups: Callable[[Sentences], list[np.ndarray]],
    of: Callable[[list[float]], float],
) -> Spread | None:
    """The spread over seeds and sentences of a difference; None: the seeds' sentences differ.

    Args:
        pairs: the better and the worse variant's sentences, for each seed.
        groups: the indices of the sentences that are resampled together.
        of: the estimand from the difference of the scores in each group.
    """
    every = [sentences for pair in pairs for sentences in pair]
    if not every or not all(map(every[0].comparable, every)):
        return None
    own = groups(every[0])
    if min(map(len, own)) < 2:
        return None

    def value(pair: tuple[Sentences, Sentences], drawn: Sequence[np.ndarray]) -> float:
        better, worse = pair
        return of([better.at(places).value() - worse.at(places).value() for places in drawn])

    def mean(*drawn: np.ndarray) -> float:
        places = [group[which] for group, which in zip(own, drawn, strict=True)]
        return sum(value(pair, places) for pair in pairs) / len(pairs)

    sizes = [len(places) for places in own]
    values, variance = [value(pair, own) for pair in pairs], bootstrap_variance(sizes, mean)
    return Spread(
        "seeds and sentences", partial(seeds_and_sentences_interval, values, variance, min(sizes))
    )
