"""Batched decoding: encode a batch of sources, start, and search in stages.

The search is a loop on the device, in stages. A stage ends when the cache is full, or when the
unfinished sentences fit into a smaller batch. Then the cache grows, and the finished ones leave.

Every shape is compiled once, so shapes are few. The cache has room for FIRST words, then for twice
as many, up to the greatest length of a hypothesis; a batch has as many rows as were given, or a
power of two from FEWEST on. From R rows to the length L these are no more than
(1 + ceil(log2(R / FEWEST))) (1 + ceil(log2(L / FIRST))) programs for one shape of sources.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from attnjax.attention.mask import Padding
from attnjax.decoding.search import Hypotheses, Search, pick
from attnjax.models.sequence_model import SequenceModel

EXTRA = 50
"""Words of a hypothesis beyond its source's length, as in Vaswani et al. 2017, section 6.1."""

FIRST = 16
"""The number of words that the cache of the first stage has room for."""

FEWEST = 8
"""The largest number of rows of a batch that is not made smaller."""


class Decoding(NamedTuple):
    """What a batch resumes from: the number of words chosen, and the states of model and search.

    `constants`, `cache` and `state` are the model's; a step changes all but the constants.
    """

    step: Int[Array, ""]
    constants: Any
    cache: Any
    state: Any
    search: Any


def generate(
    model: SequenceModel,
    params: Any,
    source: Shaped[Array | np.ndarray, "B S *_"],
    search: Search,
    *,
    number: Int[np.ndarray, " B"] | None = None,
    extra: int = EXTRA,
) -> Hypotheses:
    """Return the model's hypotheses for each source, at most `extra` words longer than its memory.

    They are shorter where the model says so, see `SequenceModel.max_words`, and do not depend on
    the other sources in the batch. Rows whose memory is all padding are filler. The number of each
    source, 0, 1, ... by default, decides what a search draws for it. The arrays are NumPy's.
    """
    encoded = _encode(model, params, source)
    rows, positions = encoded[1].present.shape
    longest = model.max_words(1)
    length = positions + extra if longest is None else min(positions + extra, int(longest))
    room = min(FIRST, length)
    row = np.arange(rows)
    number = row if number is None else number
    decoding = _start(
        model, params, encoded, number, extra, search=search, length=length, room=room
    )
    tokens = np.empty((rows, search.width, length), np.int32)
    scores = np.empty((rows, search.width), np.float32)
    while True:
        few = _next_smaller(rows)
        decoding, best = _stage(model, params, decoding, room, few, search=search)
        active = np.asarray(decoding.search.active)
        # A sentence that finished in an earlier stage is written again, unchanged.
        tokens[row[~active]] = np.asarray(best.tokens)[~active]
        scores[row[~active]] = np.asarray(best.scores)[~active]
        if not active.any():
            return Hypotheses(tokens, scores)
        wanted = min(2 * room, length) if int(decoding.step) == room else room
        while active.sum() <= _next_smaller(rows):
            rows = _next_smaller(rows)
        kept = np.argsort(~active, stable=True)[:rows]
        if (rows, wanted) != (len(active), room):
            decoding = _select(model, params, decoding, kept, room=wanted)
        row, room = row[kept], wanted


def _next_smaller(rows: int) -> int:
    """Return the next smaller number of rows in a batch, or 0."""
    return 1 << (rows - 1).bit_length() - 1 if rows > FEWEST else 0


@partial(jax.jit, static_argnames="model")
def _encode(model: SequenceModel, params: Any, source: Any) -> Any:
    return model.bind({"params": params}).encode(source, deterministic=True)


@partial(jax.jit, static_argnames=("model", "search", "length", "room"))
def _start(
    model: SequenceModel,
    params: Any,
    encoded: tuple[Any, Padding],
    number: np.ndarray,
    extra: int,
    *,
    search: Search,
    length: int,
    room: int,
) -> Decoding:
    """Return the decoding before the first word."""
    positions = encoded[1].present.sum(-1)
    limit, longest = jnp.minimum(positions + extra, length), model.max_words(positions)
    if longest is not None:
        limit = jnp.minimum(limit, longest)
    searched = search.init(jnp.where(positions > 0, limit, 0), length, jnp.asarray(number))
    started = model.bind({"params": params}).start(*encoded, length=room, beams=search.width)
    return Decoding(jnp.zeros((), jnp.int32), *started, searched)


@partial(jax.jit, static_argnames=("model", "search"), donate_argnames="decoding")
def _stage(
    model: SequenceModel, params: Any, decoding: Decoding, room: int, few: int, *, search: Search
) -> tuple[Decoding, Hypotheses]:
    """Step until `room` words are chosen or at most `few` sentences are unfinished."""

    def is_unfinished(decoding: Decoding) -> Array:
        return (decoding.step < room) & (decoding.search.active.sum() > few)

    def advance(decoding: Decoding) -> Decoding:
        step, constants, cache, state, searched = decoding
        bound = model.bind({"params": params})
        logits, cache, state = bound.step(constants, cache, state, searched.last, step)
        searched, parent = search.advance(searched, logits, step)
        if search.width > 1:
            state = jax.tree.map(lambda leaf: pick(leaf, parent), state)
        return Decoding(step + 1, constants, cache, state, searched)

    decoding = jax.lax.while_loop(is_unfinished, advance, decoding)
    return decoding, search.finalize(decoding.search)


@partial(jax.jit, static_argnames=("model", "room"))
def _select(
    model: SequenceModel, params: Any, decoding: Decoding, kept: Array, *, room: int
) -> Decoding:
    """Select rows of the decoding, and make room for more words."""
    step, *rows = decoding
    constants, cache, state, searched = jax.tree.map(lambda leaf: leaf[kept], rows)
    cache, state = model.bind({"params": params}).grow_cache(cache, state, length=room)
    return Decoding(step, constants, cache, state, searched)
