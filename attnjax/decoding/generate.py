"""From a batch of sources to hypotheses: encode, start, and search in stages.

The search is a loop on the device, and sentences differ in when they are finished. So it runs in
stages: one ends when the memory of words is full, or when the sentences that are not finished make
a smaller batch. Then the memory gets room for more, and the finished ones leave.

Every shape is compiled once, so shapes are few. The memory has room for FIRST words, then for twice
as many, up to the length of the longest hypothesis there may be; a batch has as many rows as were
given, or a power of two from FEWEST on. From R rows to the length L these are no more than
(1 + ceil(log2(R / FEWEST))) (1 + ceil(log2(L / FIRST))) programs for one shape of sources.
"""

from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.decoding.search import Hypotheses, Search, pick

EXTRA = 50
"""A hypothesis may be so much longer than its source. Vaswani et al. 2017, section 6.1."""

FIRST = 16
"""The words that the first stage has room for."""

FEWEST = 8
"""A batch of so few rows is searched to its end."""


class DecodingModel(Protocol):
    """A model with `encode`, `start`, `step` and `longer`; hashable, as unbound Linen modules are.

    What these take and give is said in `attnjax.models.base`.
    """

    def apply(self, variables: Any, /, *args: Any, **named: Any) -> Any:
        """Call the method named by `method`."""
        ...


class Moving(NamedTuple):
    """What a step changes.

    Attributes:
        place: how many words were chosen, a scalar.
        written: the decoder's.
        carry: likewise.
        state: the search's.
    """

    place: jax.Array
    written: Any
    carry: Any
    state: Any


def translate(
    model: DecodingModel,
    params: Any,
    source: jax.Array | np.ndarray,
    search: Search,
    *,
    extra: int = EXTRA,
    most: int | None = None,
) -> Hypotheses:
    """The model's hypotheses for each source, of at most `extra` symbols more than its memory.

    They do not depend on what other sources are in the batch.

    Args:
        model: the decoder.
        params: its parameters.
        source: int [B, S], ended by END, PAD after it, or floats [B, S, ...]; rows whose memory is
            all padding are filler.
        search: how to search.
        extra: how much longer than its places in memory a hypothesis may be.
        most: the most symbols that any may have; None: there is no such number.

    Returns:
        NumPy arrays [B, K, L] and [B, K]; L is places in memory + extra, or `most` if that is less.
    """
    memory, mask = _encode(model, params, source)
    rows, places = mask.present.shape
    length = places + extra if most is None else min(places + extra, most)
    room = min(FIRST, length)
    shapes = {"length": length, "room": room}
    constants, moving = _start(model, params, memory, mask, extra, search=search, **shapes)
    tokens = np.empty((rows, search.width, length), np.int32)
    scores = np.empty((rows, search.width), np.float32)
    number = np.arange(rows)
    while True:
        moving, found = _stage(
            model, params, constants, moving, room, _smaller(rows), search=search
        )
        going = np.asarray(moving.state.going)
        # one that has finished earlier is found again as it was
        tokens[number[~going]] = np.asarray(found.tokens)[~going]
        scores[number[~going]] = np.asarray(found.scores)[~going]
        if not going.any():
            return Hypotheses(tokens, scores)
        wanted = min(2 * room, length) if int(moving.place) == room else room
        while going.sum() <= _smaller(rows):
            rows = _smaller(rows)
        kept = np.argsort(~going, stable=True)[:rows]
        if (rows, wanted) != (len(going), room):
            constants, moving = _next(model, params, constants, moving, kept, room=wanted)
        number, room = number[kept], wanted


def _smaller(rows: int) -> int:
    """The next smaller size of a batch; 0: there is none."""
    return 1 << (rows - 1).bit_length() - 1 if rows > FEWEST else 0


def _call(model: DecodingModel, params: Any, method: str, *args: Any, **named: Any) -> Any:
    return model.apply({"params": params}, *args, method=method, **named)


@partial(jax.jit, static_argnames="model")
def _encode(model: DecodingModel, params: Any, source: jax.Array | np.ndarray) -> Any:
    """What was read of the sources, and the mask of their places."""
    return _call(model, params, "encode", source, deterministic=True)


@partial(jax.jit, static_argnames=("model", "search", "length", "room"))
def _start(
    model: DecodingModel,
    params: Any,
    memory: Any,
    mask: Any,
    extra: int,
    *,
    search: Search,
    length: int,
    room: int,
) -> tuple[Any, Moving]:
    """The constants, and everything else before the first word."""
    places = mask.present.sum(-1)
    limit = jnp.where(places > 0, jnp.minimum(places + extra, length), 0)
    constants, written, carry = _call(
        model, params, "start", memory, mask, length=room, size=search.width
    )
    place = jnp.zeros((), jnp.int32)
    return constants, Moving(place, written, carry, search.begin(limit, length))


@partial(jax.jit, static_argnames=("model", "search"), donate_argnames="moving")
def _stage(
    model: DecodingModel,
    params: Any,
    constants: Any,
    moving: Moving,
    room: int,
    few: int,
    *,
    search: Search,
) -> tuple[Moving, Hypotheses]:
    """Words up to the place `room`, or until no more than `few` sentences go on; what is found."""

    def goes_on(moving: Moving) -> jax.Array:
        return (moving.place < room) & (moving.state.going.sum() > few)

    def onwards(moving: Moving) -> Moving:
        place, written, carry, state = moving
        logits, written, carry = _call(
            model, params, "step", constants, written, carry, state.last, place
        )
        state, parent = search.choose(state, logits, place)
        if search.width > 1:
            carry = jax.tree.map(lambda leaf: pick(leaf, parent), carry)
        return Moving(place + 1, written, carry, state)

    moving = jax.lax.while_loop(goes_on, onwards, moving)
    return moving, search.found(moving.state)


@partial(jax.jit, static_argnames=("model", "room"))
def _next(
    model: DecodingModel, params: Any, constants: Any, moving: Moving, kept: jax.Array, *, room: int
) -> tuple[Any, Moving]:
    """The rows that are kept, with room for more words."""
    rows = constants, moving.written, moving.carry, moving.state
    constants, written, carry, state = jax.tree.map(lambda leaf: leaf[kept], rows)
    written, carry = _call(model, params, "longer", written, carry, length=room)
    return constants, Moving(moving.place, written, carry, state)
