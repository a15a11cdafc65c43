"""Self-attention in search, a word at a time, for the K hypotheses of each sentence.

An attention is stepped in one of two ways; its method `start` says in which.

    cached      It reads the prepared keys and values of all words so far. One key-value cache is
                shared by the beam: what beam k wrote at step l stays at index l * K + k. Hypotheses
                carry back-pointers to the beam whose entry they inherit at each step. So when a
                search drops some hypotheses and continues others twice, it moves the
                back-pointers, not the cache. The K hypotheses are K queries of one cache, and a
                mask shows each query its own entries.
    recurrent   It reads and changes a state whose size does not grow with the words. Each
                hypothesis has a state of its own, which the search moves.

A model gives the search a cache and a `BeamState`; a layer's part of both is its `LayerMemory`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import Causal, DenseMask
from attnjax.attention.position import Positions
from attnjax.models.sequence_model import repeat_beams
from attnjax.models.shapes import Embedded, Present, Step
from attnjax.nn.lift import scan_time


class LayerMemory(NamedTuple):
    """The memory of one self-attention: a cache or a recurrent state; the other is None.

    The cache are the prepared keys and values of all hypotheses, leaves [B, ..., L * K, any]; the
    recurrent state has leaves [B, K, ...].
    """

    cache: Any
    recurrent: Any


BackPointers = Int[Array, "B K L"]


class BeamState(NamedTuple):
    """The part of a decoder's state that the search moves with a hypothesis.

    Attributes:
        back_pointers: the beam that wrote the hypothesis' entry at each step, the same for all
            layers.
        recurrent: the `LayerMemory.recurrent` of each layer.
    """

    back_pointers: BackPointers
    recurrent: tuple[Any, ...]


class BeamCache(NamedTuple):
    """The place of the present step's entries, and the entries that each hypothesis may attend to.

    Attributes:
        mask: the entries of each hypothesis up to the present step, [B, K, L * K].
        first: the index of the first of the present step's K entries.
        positions: of the K queries, the present step, [1, K]; of the entries, [1, L * K]. Behind a
            prompt both are later by its words, and lead with B.
    """

    mask: DenseMask
    first: Int[Array, ""]
    positions: Positions


def empty_memory(attention: AttentionBase, x: Embedded, *, length: int, beams: int) -> LayerMemory:
    """The memory of a self-attention before the first word, with room for L = `length` words.

    Of x only the shape and the dtype count.
    """
    word = jnp.zeros((len(x), beams, 1, x.shape[-1]), x.dtype)
    recurrent = attention.start(attention.prepare(word, word))
    if recurrent is not None:
        return LayerMemory(None, recurrent)
    prepared = attention.prepare(word[:, 0], word[:, 0])
    return LayerMemory(_grow(jax.tree.map(jnp.zeros_like, prepared), length * beams - 1), None)


def attend_to_prompt(
    attention: AttentionBase, x: Embedded, present: Present, *, length: int, beams: int
) -> tuple[Float[Array, "B S A"], LayerMemory]:
    """Causal self-attention of a prompt, and the memory of it, with room for L words to come.

    Only the words that are `present`, the first ones of each row, are kept in memory. A cache holds
    the prompt's S entries before those of the hypotheses, see `after_prompt`.
    """
    state = attention.start(attention.prepare(x[:, :1], x[:, :1]))
    if state is None:
        prepared = attention.prepare(x, x)
        context = attention.attend(x, prepared, Causal(), deterministic=True)
        return context, LayerMemory(_grow(prepared, length * beams), None)

    def read(attention: AttentionBase, state: Any, inputs: Any) -> tuple[Any, Array]:
        word, keep = inputs
        word = word[:, None]
        context, after = attention.step(word, attention.prepare(word, word), state)

        def kept(new: Array, old: Array) -> Array:
            return jnp.where(keep.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        return jax.tree.map(kept, after, state), context[:, 0]

    state, context = scan_time(read)(attention, state, (x, present))
    return context, LayerMemory(None, repeat_beams(state, beams))


def attend_to_past(
    attention: AttentionBase, x: Float[Array, "B K D"], memory: LayerMemory, beams: BeamCache
) -> tuple[Float[Array, "B K A"], LayerMemory]:
    """Causal self-attention of one more word of each hypothesis, and the memory with that word."""
    if memory.recurrent is None:
        cache = _write(memory.cache, attention.prepare(x, x), beams.first)
        context = attention.attend(
            x, cache, beams.mask, positions=beams.positions, deterministic=True
        )
        return context, LayerMemory(cache, None)
    # each hypothesis is a sentence of its own, with one word
    word = x[..., None, :]
    context, recurrent = attention.step(word, attention.prepare(word, word), memory.recurrent)
    return context[..., 0, :], LayerMemory(None, recurrent)


def gather(
    memories: Sequence[LayerMemory], back_pointers: Array
) -> tuple[tuple[Any, ...], BeamState]:
    """The memories of all layers as the cache and the state of a model."""
    caches, recurrent = zip(*memories, strict=True)
    return caches, BeamState(back_pointers, recurrent)


def layer_memories(cache: Sequence[Any], state: BeamState) -> list[LayerMemory]:
    """The memory of each layer, from the cache and the state of a model."""
    return [LayerMemory(*own) for own in zip(cache, state.recurrent, strict=True)]


def grow_cache(
    cache: Sequence[Any], state: BeamState, *, length: int
) -> tuple[tuple[Any, ...], BeamState]:
    """The cache and the state of a model with room for so many words."""
    back_pointers = state.back_pointers
    _, beams, steps = back_pointers.shape
    back_pointers = jnp.pad(back_pointers, ((0, 0), (0, 0), (0, length - steps)))
    grown = tuple(_grow(layer, (length - steps) * beams) for layer in cache)
    return grown, state._replace(back_pointers=back_pointers)


def append_self(back_pointers: BackPointers, step: Step) -> BackPointers:
    """The back-pointers with each hypothesis pointing to itself at a step."""
    itself = jax.lax.broadcasted_iota(back_pointers.dtype, (*back_pointers.shape[:2], 1), 1)
    return jax.lax.dynamic_update_slice_in_dim(back_pointers, itself, step, axis=2)


def beam_cache(back_pointers: BackPointers, step: Step) -> BeamCache:
    """How a step reads and writes the cache; back-pointers include the present step's."""
    beams, length = back_pointers.shape[1:]
    writer, steps = jnp.arange(beams), jnp.arange(length)
    own = back_pointers[..., None] == writer[None, None, None, :]
    own &= (steps <= step)[None, None, :, None]
    return BeamCache(
        mask=DenseMask(own.reshape(*own.shape[:2], length * beams)),
        first=step * beams,
        positions=Positions(jnp.broadcast_to(step, (1, beams)), jnp.repeat(steps, beams)[None]),
    )


def after_prompt(beams: BeamCache, present: Present) -> BeamCache:
    """How a step reads and writes a cache that holds a prompt's entries before the hypotheses'.

    `beams` is the step without a prompt; the words of the prompt that are `present` are the first
    ones of each row.
    """
    (rows, places), count = present.shape, present.sum(-1, keepdims=True)
    own, (query, key) = beams.mask.allowed, beams.positions
    prompt = jnp.broadcast_to(present[:, None], (*own.shape[:2], places))
    place = jnp.broadcast_to(jnp.arange(places)[None], (rows, places))
    return BeamCache(
        mask=DenseMask(jnp.concatenate([prompt, own], axis=-1)),
        first=places + beams.first,
        positions=Positions(count + query, jnp.concatenate([place, count + key], axis=-1)),
    )


def _write(cache: Any, entries: Any, first: Array) -> Any:
    """The cache [..., L * K, any] with the entries [..., K, any] from index `first` on."""

    def write(old: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(old, new, first, axis=old.ndim - 2)

    return jax.tree.map(write, cache, entries)


def _grow(cache: Any, more: int) -> Any:
    """The cache, leaves [..., entries, any], with so many more empty entries behind its own."""

    def grow(old: Array) -> Array:
        new = jnp.zeros((*old.shape[:-2], old.shape[-2] + more, old.shape[-1]), old.dtype)
        return new.at[..., : old.shape[-2], :].set(old)

    return jax.tree.map(grow, cache)
