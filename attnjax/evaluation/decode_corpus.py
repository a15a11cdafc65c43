"""Decoding of a whole split: the hypotheses of a search for each source."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from attnjax.data.batch_plan import Batch
from attnjax.data.batching import Batching, in_order
from attnjax.data.corpus import Encoded
from attnjax.data.special_tokens import END
from attnjax.decoding.generate import EXTRA, generate
from attnjax.decoding.search import Hypotheses, Search

AT_ONCE = 2
"""The number of batches that are decoded at the same time, each in a thread.

The host reads the result of one while the device computes the other: on two cores 1.36 times as
fast as one batch, in twice the memory; three are no faster.
"""

SHAPES = 2
"""The largest number of shapes of batches: compiling another costs more time than padding."""


def hypotheses(
    model: Any,
    params: Any,
    sources: Sequence[list[int] | np.ndarray],
    *,
    search: Search,
    batching: Batching,
    extra: int = EXTRA,
    numbers: Sequence[int] | None = None,
) -> list[Hypotheses]:
    """Search for hypotheses for each source: tokens [K, L] and scores [K], in order.

    A source is a list of ids, ended by END, or an array of floats; an answer has at most `extra`
    words more. `numbers` number the sentences for a search that samples; None: 0, 1, ... Batches
    are as large as `batching` allows, or larger if a single sentence needs it.
    """
    if not sources:
        return []
    params = jax.device_put(params)
    decoded: dict[int, Hypotheses] = {}
    wide = jax.config.read("jax_enable_x64")
    # memory goes into hypotheses: a target of the greatest length stands for each of them
    examples = [Encoded(source, [END] * (len(source) + extra)) for source in sources]
    every = np.arange(len(sources)) if numbers is None else np.asarray(numbers)
    batches = in_order(examples, batching.with_room(examples, shapes=SHAPES))

    def searched(numbered: tuple[np.ndarray, Batch]) -> tuple[np.ndarray, Hypotheses]:
        indices, batch = numbered
        # JAX's settings are per thread: the width of numbers is the caller's
        with jax.enable_x64(wide):
            return indices, generate(
                model, params, batch.source, search, number=every[indices], extra=extra
            )

    threads = ThreadPoolExecutor(AT_ONCE)
    try:
        for indices, of_batch in threads.map(searched, batches):
            rows = map(Hypotheses, *map(np.asarray, of_batch))
            decoded |= zip(indices.tolist(), rows, strict=True)
    finally:
        # after Ctrl-C only the batches that are being decoded are waited for
        threads.shutdown(cancel_futures=True)
    return [decoded[index] for index in range(len(sources))]
