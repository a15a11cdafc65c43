"""Self-attention in search, a word at a time, for the K hypotheses of each sentence.

An attention is stepped in one of two ways, which depends on its method `start`.

    cached      It reads the prepared keys and values of all words so far. One cache is shared by
                the beam: what beam k wrote at step l stays at index l * K + k. Hypotheses carry
                back-pointers to the beam whose entry they inherit at each step; a search moves
                these, not the cache. A mask shows each of K queries its own entries.
    recurrent   It changes a state of constant size. Each hypothesis has a state of its own, which
                the search moves.

A model gives the search a cache and a `BeamState`; a layer's part of both is its `LayerMemory`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from attnjax.attention.attention import AttentionBase
from attnjax.attention.heads.carried import Carried
from attnjax.attention.mask import Causal, DenseMask
from attnjax.attention.position import Positions
from attnjax.models.sequence_model import repeat_beams, select_rows
from attnjax.models.shapes import Embedded, Present, Step
from attnjax.nn.lift import scan_time


class LayerMemory(NamedTuple):
    """The memory of one self-attention: a cache or a recurrent state; the other is None.

    The leaves of the cache are [B, ..., L * K, any], those of the recurrent state [B, K, ...].
    """

    cache: Any
    recurrent: Any


BackPointers = Int[Array, "B K L"]


class BeamState(NamedTuple):
    """The part of a decoder's state that the search moves with a hypothesis.

    Back-pointers are the beam that wrote its entry at each step, in all layers; each layer has a
    recurrent state, or None.
    """

    back_pointers: BackPointers
    recurrent: tuple[Any, ...]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OwnEntries(DenseMask):
    """The entries of a cache that each hypothesis may attend to, booleans [B, K, entries].

    What it hides is finite: nothing yet, or another hypothesis's. So no step has to copy the cache
    to set it to 0.
    """

    def seen_keys(self) -> None:
        return None


class BeamCache(NamedTuple):
    """The index of the present step's entries, and the entries that a hypothesis may attend to.

    Attributes:
        mask: [B, K, entries]. The entries are those of a prompt, then L * K of the hypotheses.
        first: the index of the first of the present step's K entries.
        positions: of the K queries and of the entries; they lead with B after a prompt, else 1.
    """

    mask: OwnEntries
    first: Int[Array, ""]
    positions: Positions


def empty_memory(attention: AttentionBase, x: Embedded, *, length: int, beams: int) -> LayerMemory:
    """Return the memory before the first word, with room for L words.

    Only the shape and dtype of x matter.
    """
    word = jnp.zeros((len(x), beams, 1, x.shape[-1]), x.dtype)
    recurrent = attention.start(attention.prepare(word, word))
    if recurrent is not None:
        return LayerMemory(None, recurrent)
    prepared = attention.prepare(word[:, 0], word[:, 0])
    return LayerMemory(_grow(jax.tree.map(jnp.zeros_like, prepared), length * beams - 1), None)


def attend_to_prompt(
    attention: AttentionBase,
    x: Embedded,
    present: Present,
    carried: Carried = Carried(),
    *,
    length: int,
    beams: int,
) -> tuple[Float[Array, "B S A"], LayerMemory]:
    """Read a prompt by causal self-attention; the memory has room for L words to come.

    Only the words that are `present`, the first ones of each row, are remembered. What is `carried`
    to the attention is that of the words, [B, S, ...].
    """
    state = attention.start(attention.prepare(x[:, :1], x[:, :1]))
    if state is None:
        prepared = _prepared(attention, x, carried)
        context = attention.attend(x, prepared, Causal(), deterministic=True)
        return context, LayerMemory(_grow(prepared, length * beams), None)

    def read(attention: AttentionBase, state: Any, inputs: Any) -> tuple[Any, Array]:
        keep, *words = inputs
        word, carried = jax.tree.map(lambda leaf: leaf[:, None], words)
        context, after = attention.step(word, _prepared(attention, word, carried), state)
        return select_rows(keep, after, state), context[:, 0]

    state, context = scan_time(read)(attention, state, (present, x, carried))
    return context, LayerMemory(None, repeat_beams(state, beams))


def attend_to_past(
    attention: AttentionBase,
    x: Float[Array, "B K D"],
    memory: LayerMemory,
    beams: BeamCache,
    carried: Carried = Carried(),
) -> tuple[Float[Array, "B K A"], LayerMemory]:
    """Read one more word of each hypothesis; the memory then has that word.

    What is `carried` to the attention is that of the word, [B, K, ...].
    """
    if memory.recurrent is None:
        write = partial(jax.lax.dynamic_update_slice_in_dim, start_index=beams.first, axis=-2)
        cache = jax.tree.map(write, memory.cache, _prepared(attention, x, carried))
        context = attention.attend(
            x, cache, beams.mask, positions=beams.positions, deterministic=True
        )
        return context, LayerMemory(cache, None)
    # each hypothesis is a sentence of its own, with one word
    word, carried = jax.tree.map(lambda leaf: leaf[:, :, None], (x, carried))
    prepared = _prepared(attention, word, carried)
    context, recurrent = attention.step(word, prepared, memory.recurrent)
    return context[..., 0, :], LayerMemory(None, recurrent)


def _prepared(attention: AttentionBase, x: Array, carried: Carried) -> Any:
    """Return the memory of words, with what is carried to an attention that mixes it."""
    return attention.prepare(x, x, **carried.options())


def gather(
    memories: Sequence[LayerMemory], back_pointers: Array
) -> tuple[tuple[Any, ...], BeamState]:
    """Split the memories of all layers into the cache and the state of a model."""
    caches, recurrent = zip(*memories, strict=True)
    return caches, BeamState(back_pointers, recurrent)


def grow_cache(
    cache: Sequence[Any], state: BeamState, *, length: int
) -> tuple[tuple[Any, ...], BeamState]:
    """Enlarge the cache and the state of a model for `length` words."""
    back_pointers = state.back_pointers
    _, beams, steps = back_pointers.shape
    back_pointers = jnp.pad(back_pointers, ((0, 0), (0, 0), (0, length - steps)))
    grown = tuple(_grow(layer, (length - steps) * beams) for layer in cache)
    return grown, state._replace(back_pointers=back_pointers)


def beam_cache(
    back_pointers: BackPointers, step: Step, prompt: Present | None
) -> tuple[BackPointers, BeamCache]:
    """Return the back-pointers with the step's own, and how the step uses the cache.

    Of a prompt the words that are present, the first ones of each row, are read.
    """
    batch, beams, length = back_pointers.shape
    itself = jax.lax.broadcasted_iota(back_pointers.dtype, (batch, beams, 1), 1)
    back_pointers = jax.lax.dynamic_update_slice_in_dim(back_pointers, itself, step, axis=2)
    writer, steps = jnp.arange(beams), jnp.arange(length)
    own = back_pointers[..., None] == writer[None, None, None, :]
    own &= (steps <= step)[None, None, :, None]
    own, first = own.reshape(batch, beams, length * beams), step * beams
    query, key = jnp.broadcast_to(step, (1, beams)), jnp.repeat(steps, beams)[None]
    if prompt is not None:
        size, count = prompt.shape[1], prompt.sum(-1, keepdims=True)
        seen = jnp.broadcast_to(prompt[:, None], (batch, beams, size))
        own, first = jnp.concatenate([seen, own], axis=-1), size + first
        position = jnp.broadcast_to(jnp.arange(size)[None], (batch, size))
        query, key = count + query, jnp.concatenate([position, count + key], axis=-1)
    return back_pointers, BeamCache(OwnEntries(own), first, Positions(query, key))


def _grow(cache: Any, more: int) -> Any:
    """Append `more` empty entries to a cache, leaves [..., entries, any]."""

    def grow(old: Array) -> Array:
        return jnp.pad(old, [*[(0, 0)] * (old.ndim - 2), (0, more), (0, 0)])

    return jax.tree.map(grow, cache)
