"""Recurrent encoders: a cell over a text in one direction, and the stack of such layers."""

from dataclasses import field
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.config.constraints import PositiveInt
from attnjax.models.packed_rows import first_places, last_places
from attnjax.models.rnn_cells import LSTM, Carry, Cell
from attnjax.models.text_encoder import EncodedText, TextEncoder
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherited, scan_time


class RNNLayer(nn.Module):
    """One cell over a text in one direction.

    Padding does not change the carry, and its state is 0. Reading backward therefore begins at the
    last word that is not padding.

    Attributes:
        width: W, of its state.
        direction: "forward" reads from the first word on, "backward" from the last word on; either
            way a state stands at the position of its word.
    """

    cell: Cell
    width: PositiveInt
    direction: Literal["forward", "backward"] = "forward"

    def setup(self) -> None:
        self.unit = clone_template(self.cell, width=self.width)

    def __call__(self, x: jax.Array, present: jax.Array) -> tuple[jax.Array, Carry]:
        """Texts [B, S, D], present [B, S], True = a word -> states [B, S, W], the final carry."""

        def step(
            cell: Cell, carry: Carry, word: tuple[jax.Array, jax.Array]
        ) -> tuple[Carry, jax.Array]:
            return _read(cell, carry, *word)

        projected = self.unit.project(x)
        start = self.unit.initial(x.shape[0], projected.dtype)
        read = scan_time(step, direction=self.direction)
        final, states = read(self.unit, start, (projected, present))
        return states, final

    def packed(
        self, x: jax.Array, present: jax.Array, sentence: jax.Array
    ) -> tuple[jax.Array, Carry]:
        """As `__call__`, for rows of several sentences: the carry begins anew with each of them.

        The sentences are numbered as in `attnjax.data.packing.Packing`. Gives the states [B, S, W],
        and the carry after each word, with leaves [B, S, W].
        """
        projected = self.unit.project(x)
        start = self.unit.initial(x.shape[0], projected.dtype)

        def step(cell: Cell, carry: Carry, word: tuple[jax.Array, ...]) -> tuple[Carry, Any]:
            projected, present, begins = word
            carry = jax.tree.map(lambda old: jnp.where(begins[:, None], 0, old), carry)
            after, state = _read(cell, carry, projected, present)
            return after, (state, after)

        begins = first_places if self.direction == "forward" else last_places
        read = scan_time(step, direction=self.direction)
        _, (states, carries) = read(self.unit, start, (projected, present, begins(sentence)))
        return states, carries


def _read(
    cell: Cell, carry: Carry, projected: jax.Array, present: jax.Array
) -> tuple[Carry, jax.Array]:
    """The carry after a word and its state; padding does not change the carry."""
    present = present[:, None]
    after, state = cell(carry, projected)
    after = jax.tree.map(lambda new, old: jnp.where(present, new, old), after, carry)
    return after, jnp.where(present, state, jnp.zeros((), state.dtype))


def _of_sentences(carries: Carry, sentence: jax.Array, last: jax.Array) -> Carry:
    """Of carries [B, S, W] those of the last place read of each sentence, by its number."""
    rows, places = sentence.shape
    row = jnp.arange(rows)[:, None]
    index = jnp.zeros((rows, places), jnp.int32)
    place = jnp.broadcast_to(jnp.arange(places, dtype=jnp.int32)[None], (rows, places))
    index = index.at[row, jnp.where(last, sentence, places)].set(place, mode="drop")
    return jax.tree.map(lambda leaf: jnp.take_along_axis(leaf, index[..., None], axis=1), carries)


class EncoderOutput(NamedTuple):
    """The output of an encoder.

    Attributes:
        states: the states of the last layer, [B, S, W], or [B, S, 2 W] with both directions,
            forward first; 0 at padding.
        final: the carry after the last word read, of each layer, of each direction; of packed rows
            that of each sentence, by its number: leaves [B, S, W].
    """

    states: jax.Array
    final: tuple[tuple[Carry, ...], ...]


class Encoder(TextEncoder):
    """A stack of recurrent layers over a text, in one direction or in both.

    Of the source `a b c END`, "forward" reads a b c END and "backward" reads END c b a. The order
    of Sutskever et al. 2014, c b a END, is "forward" over a source that the task gives in the order
    `Reversed`. With "both", every layer of either direction reads the states of both directions of
    the layer below. Dropout falls between layers and on nothing else.

    Attributes:
        width: W, of one direction.
        direction: in which order the words are read.
        dropout: between layers; None means the model's.

    Source: Schuster & Paliwal 1997 (both directions); Bahdanau et al. 2015, section 3.2; Zaremba et
        al. 2014, section 3.2 (dropout).
    """

    cell: Cell = field(default_factory=LSTM)
    width: PositiveInt = 512
    layers: PositiveInt = 1
    direction: Literal["forward", "backward", "both"] = "both"

    def setup(self) -> None:
        self.forward = self._stack("forward")
        self.backward = self._stack("backward")
        self.drop = Dropout(inherited(self, "dropout"))

    def _stack(self, direction: Literal["forward", "backward"]) -> list[RNNLayer]:
        """The layers of one direction, if the encoder reads in it."""
        if self.direction not in (direction, "both"):
            return []
        return [
            RNNLayer(cell=self.cell, width=self.width, direction=direction)
            for _ in range(self.layers)
        ]

    def __call__(
        self,
        x: jax.Array,
        present: jax.Array,
        *,
        sentence: jax.Array | None = None,
        deterministic: bool,
    ) -> EncoderOutput:
        """Texts [B, S, D], present [B, S], True = a word.

        `sentence`, [B, S], numbers the sentences of packed rows, see `attnjax.data.packing`.
        """

        def read(layer: RNNLayer) -> tuple[jax.Array, Carry]:
            if sentence is None:
                return layer(x, present)
            states, carries = layer.packed(x, present, sentence)
            ends = last_places if layer.direction == "forward" else first_places
            return states, _of_sentences(carries, sentence, ends(sentence) & present)

        final = []
        stacks = [stack for stack in (self.forward, self.backward) if stack]
        for number, layer in enumerate(zip(*stacks, strict=True)):
            if number:
                x = self.drop(x, deterministic=deterministic)
            states, carries = zip(*map(read, layer), strict=True)
            x = jnp.concatenate(states, axis=-1)
            final.append(carries)
        return EncoderOutput(x, tuple(final))

    @nn.nowrap
    def state_width(self, width: int) -> int:
        return self.width * (2 if self.direction == "both" else 1)

    def read(self, x: jax.Array, present: jax.Array, *, deterministic: bool) -> EncodedText:
        """As `__call__`; the query is the last layer's states after the last word they read."""
        states, final = self(x, present, deterministic=deterministic)
        query = jnp.concatenate([carry[-1] for carry in final[-1]], axis=-1)
        return EncodedText(states, query[:, None])
