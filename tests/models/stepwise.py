"""A decoder word by word, for hypotheses that a search has reordered, and what it ought to give."""

import functools
from typing import Any

import chex
import jax
import numpy as np

from attnjax.decoding.search import pick
from tests import jitted

K = 3
ROOM, MORE = 2, 9
"""The words there is room for, before and after `grow_cache`: fewer and more than are given."""


def stepped_and_parallel(
    model: Any, params: Any, source: Any, given: Any, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Logits [B, K, T, V] of K hypotheses by `start`, `step` and `grow_cache`, and all at once.

    The first hypothesis of the first place has `given` [B, T]; the others, and what goes on from
    whom, are drawn, the first hypothesis' first word never lost.
    """
    (batch, length), random = given.shape, np.random.default_rng(seed)
    words = random.integers(1, int(given.max()) + 1, (batch, K, length))
    words[:, 0] = given
    parents = random.integers(0, K, (length, batch, K))
    parents[:, :, 0] = 0
    histories, history = [], words[:, :, :0]
    for place in range(length):
        history = np.concatenate([history, words[:, :, place : place + 1]], axis=2)
        behind = np.zeros((batch, K, length - place - 1), int)
        histories.append(np.concatenate([history, behind], axis=2))
        history = np.take_along_axis(history, parents[place][..., None], axis=1)

    @jax.jit
    def begin(params, source):
        call = functools.partial(model.apply, {"params": params})
        memory, mask = call(source, deterministic=True, method="encode")
        constants, cache, state = call(memory, mask, length=ROOM, beams=K, method="start")
        for leaf in jax.tree.leaves((constants, cache)):
            assert leaf.shape[0] == batch, "finished sentences leave the batch"
        return constants, cache, state

    @jax.jit
    def grow(params, cache, state):
        return model.apply({"params": params}, cache, state, length=MORE, method="grow_cache")

    @jax.jit
    def step(params, constants, before, word, place, parent):
        logits, *after = model.apply(
            {"params": params}, constants, *before, word, place, method="step"
        )
        # what a loop carries never changes its form
        chex.assert_trees_all_equal_shapes_and_dtypes(before, tuple(after))
        cache, state = after
        for leaf in jax.tree.leaves(state):
            assert leaf.shape[:2] == (batch, K), "what a beam gathers"
        return logits, (cache, jax.tree.map(lambda leaf: pick(leaf, parent), state))

    constants, *before = begin(params, source)
    before, stepped = tuple(before), []
    for place in range(length):
        if place == ROOM:
            before = grow(params, *before)
        word, parent = words[:, :, place], parents[place]
        logits, before = step(params, constants, before, word, np.int32(place), parent)
        stepped.append(logits)

    # a row for every place, sentence and hypothesis, of which its own place counts
    rows = np.stack(histories).reshape(-1, length)
    sources = np.repeat(np.asarray(source), K, axis=0)
    sources = np.tile(sources, (length, *[1] * (source.ndim - 1)))
    logits = jitted.apply(model, {"params": params}, sources, rows, deterministic=True)
    logits = logits.reshape(length, batch, K, length, -1)
    parallel = [logits[place, :, :, place] for place in range(length)]
    return np.stack(stepped, axis=2), np.stack(parallel, axis=2)
