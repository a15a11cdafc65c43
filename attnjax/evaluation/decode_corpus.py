"""What a model answers to sentences, and how good that is."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from attnjax.data.batching import Batching, in_order
from attnjax.data.corpus import Encoded
from attnjax.data.special_tokens import END
from attnjax.data.vocabulary import Vocabulary
from attnjax.decoding.generate import EXTRA, generate
from attnjax.decoding.search import Search
from attnjax.evaluation.accuracy import exact_match
from attnjax.evaluation.bleu import protocol

AT_ONCE = 2
"""Batches under way side by side, each in a thread: while the host looks at what one has found, the
device goes on with another, and small products keep two cores busy. On two cores beam search is
1.36 times as fast as one batch after the other; three are no faster. They take twice the memory."""

SHAPES = 2
"""Each shape is compiled once, and compiling a search takes longer than its padding."""


def answers(
    model: Any,
    params: Any,
    sources: Sequence[list[int] | np.ndarray],
    *,
    search: Search,
    batching: Batching,
    max_length: int | None = None,
) -> list[list[int]]:
    """The best hypothesis for each source, in the order of the sources.

    Args:
        model: see `attnjax.models.base.SequenceModel`.
        params: its parameters.
        sources: ids, each ended by END; or arrays of floats.
        search: how to search.
        batching: how many places a batch may have; more, if one sentence needs them.
        max_length: the most that the model can have; None: any number.
    """
    params = jax.device_put(params)
    found: list[list[int]] = [[] for _ in sources]
    wide = jax.config.read("jax_enable_x64")

    def searched(batch: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        indices, source = batch
        # a thread has settings of its own; of those that the caller may have changed, this one
        # changes what the arrays are
        with jax.enable_x64(wide):
            hypotheses = generate(model, params, source, search, max_length=max_length)
        return indices, np.asarray(hypotheses.tokens)[:, 0]

    threads = ThreadPoolExecutor(AT_ONCE)
    try:
        for indices, best in threads.map(searched, _batches(sources, batching)):
            for index, tokens in zip(indices, best, strict=True):
                if index >= 0:
                    found[index] = tokens.tolist()
    finally:
        # Ctrl-C waits for what is under way, and for nothing more
        threads.shutdown(cancel_futures=True)
    return found


def _batches(
    sources: Sequence[list[int] | np.ndarray], batching: Batching
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sources in batches, each row of which has room for its longest hypothesis."""
    if not sources:
        return []
    # a target of the greatest length stands for the hypothesis: it is what takes the memory
    examples = [Encoded(source, [END] * (len(source) + EXTRA)) for source in sources]
    batching = batching.with_room(examples, shapes=SHAPES)
    return [(indices, batch.source) for indices, batch in in_order(examples, batching)]


class Scored(NamedTuple):
    """A score by its metric's name, and how it was made (BLEU's signature and details)."""

    metrics: dict[str, float]
    made: dict[str, str]


def score(
    metric: Literal["exact_match", "bleu"],
    vocabulary: Vocabulary,
    hypotheses: Sequence[str],
    references: Sequence[str],
) -> Scored:
    """Score answers by the metric of their task, BLEU by the protocol of the target's vocabulary.

    Raises:
        UserError: on different counts, or nothing to score.
    """
    if metric == "exact_match":
        return Scored({metric: exact_match(hypotheses, references)}, {})
    value, signature, detail = protocol(vocabulary).score(hypotheses, references)
    return Scored({metric: value}, {"signature": signature, "detail": detail})
