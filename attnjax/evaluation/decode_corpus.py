"""Decoding of a whole split: the best answer of a search to each source."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from attnjax.data.batching import Batching, in_order
from attnjax.data.corpus import Encoded
from attnjax.data.special_tokens import END
from attnjax.decoding.generate import EXTRA, generate
from attnjax.decoding.search import Search

AT_ONCE = 2
"""Batches that are decoded side by side, each in a thread: while the host reads the result of one,
the device computes another. On two cores, two are 1.36 times as fast as one, three no faster than
two; they take twice the memory."""

SHAPES = 2
"""Shapes of batches: each is compiled once, and compiling takes longer than the padding costs."""


def answers(
    model: Any,
    params: Any,
    sources: Sequence[list[int] | np.ndarray],
    *,
    search: Search,
    batching: Batching,
) -> list[list[int]]:
    """The best hypothesis for each source, in the order of the sources.

    Args:
        model: see `attnjax.models.base.SequenceModel`.
        params: its parameters.
        sources: ids, each ended by END; or arrays of floats.
        search: how to search.
        batching: how many places a batch may have; more, if one sentence needs them.
    """
    params = jax.device_put(params)
    found: list[list[int]] = [[] for _ in sources]
    wide = jax.config.read("jax_enable_x64")

    def searched(batch: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        indices, source = batch
        # a thread has settings of its own; of those that the caller may have changed, this one
        # changes what the arrays are
        with jax.enable_x64(wide):
            hypotheses = generate(model, params, source, search, number=indices)
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
