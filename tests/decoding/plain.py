"""Beam search as its rules say it, in lists: the whole prefix at every step, all words sorted."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding.beam import Beam


class Live(NamedTuple):
    score: float
    tokens: list[int]


class Tie(Exception):
    """Two hypotheses are as good as equal: what a search in float32 finds may be either."""


def _told_apart(ranked: list[Live]) -> None:
    if np.any(-np.diff([one.score for one in ranked]) < 1e-5):
        raise Tie


@partial(jax.jit, static_argnames="model")
def parallel(model, params, row, given):
    """The logits [K, T, V] of one source [S] and prefixes of its hypotheses [K, T]."""
    sources = jnp.repeat(row[None], len(given), axis=0)
    return model.apply({"params": params}, sources, given, deterministic=True)


def plain(model, params, source, search: Beam, limits, length: int) -> list[list[Live]]:
    """The hypotheses of each sentence, best first, by the parallel call on every prefix alone.

    Raises:
        Tie: float32 cannot tell two of them apart.
    """

    def search_one(row, limit: int) -> list[Live]:
        most = length if search.max_words is None else search.max_words + 1
        limit = min(limit, length, most)
        live, finished = [Live(0.0, [])], []
        for place in range(limit):
            given = np.full((search.size, length), PAD)
            for prefix, hypothesis in zip(given, live, strict=False):
                prefix[: place + 1] = [START, *hypothesis.tokens]
            shown = np.asarray(parallel(model, params, np.asarray(row), given), np.float64)
            shown = shown[:, place]
            gain = shown - np.logaddexp.reduce(shown, axis=-1, keepdims=True)
            may = np.full(gain.shape[-1], place + 1 < limit)
            may[[PAD, START]] = False
            may[END] = place >= search.min_words or place + 1 == limit
            candidates = [
                Live(hypothesis.score + gain[k, word], [*hypothesis.tokens, int(word)])
                for k, hypothesis in enumerate(live)
                for word in np.flatnonzero(may)
            ]
            candidates = sorted(candidates, key=lambda c: -c.score)
            _told_apart(candidates[: 2 * search.size + 1])
            candidates = candidates[: 2 * search.size]
            for score, tokens in candidates[: search.size]:
                if tokens[-1] == END and len(finished) < search.size:
                    divisor = float(search.length_penalty.divisor(len(tokens)))
                    finished.append(Live(score / divisor, tokens))
            if len(finished) == search.size:
                break
            live = [c for c in candidates if c.tokens[-1] != END][: search.size]
            if not live:
                break
        finished.sort(key=lambda f: -f.score)
        _told_apart(finished)
        return finished

    return [search_one(row, int(n)) for row, n in zip(source, limits, strict=True)]
