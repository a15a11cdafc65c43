"""Recurrent encoders: a cell over a text in one direction, and the stack of such layers."""

from dataclasses import field
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.config.constraints import PositiveInt
from attnjax.models.packed_rows import sentence_ends, sentence_starts, words_before
from attnjax.models.rnn_cells import LSTM, Carry, Cell
from attnjax.models.shapes import Embedded, Present, Text
from attnjax.models.text_encoder import EncodedText, TextEncoder
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherited, scan_time


class RNNLayer(nn.Module):
    """One cell over a text in one direction; a state is at the position of its word.

    Padding does not change the carry, and its state is 0. Reading backward therefore begins at the
    last word that is not padding.
    """

    cell: Cell
    width: PositiveInt
    direction: Literal["forward", "backward"] = "forward"

    def setup(self) -> None:
        self.unit = clone_template(self.cell, width=self.width)

    def __call__(
        self, x: Embedded, present: Present, sentence: Text | None = None
    ) -> tuple[Float[Array, "B S W"], Carry]:
        """Return the states of texts, and the carry after the last word read, leaves [B, W].

        `sentence` numbers the sentences of packed rows, see `attnjax.data.batch_plan.Packing`. The
        carry begins anew with each of them, and is given of each, by its number: leaves [B, S, W].
        """
        backward = self.direction == "backward"
        first = sentence_ends if backward else sentence_starts
        is_first = None if sentence is None else first(sentence)[..., None]

        def step(cell: Cell, carry: Carry, word: tuple[Array, ...]) -> tuple[Carry, Any]:
            projected, present, is_first = word
            if is_first is not None:
                carry = jax.tree.map(lambda old: jnp.where(is_first, 0, old), carry)
            after, state = cell(carry, projected)
            after = jax.tree.map(lambda new, old: jnp.where(present, new, old), after, carry)
            state = jnp.where(present, state, jnp.zeros((), state.dtype))
            return after, (state, None if is_first is None else after)

        projected = self.unit.project(x)
        start = self.unit.initial(x.shape[0], projected.dtype)
        read = scan_time(step, direction=self.direction)
        final, (states, carries) = read(self.unit, start, (projected, present[..., None], is_first))
        if sentence is None:
            return states, final
        # the position of each sentence that is read last
        before = words_before(sentence, present)
        last = before[:, :-1] if backward else before[:, 1:] - 1
        pick = partial(jnp.take_along_axis, indices=last[..., None], axis=1, mode="clip")
        return states, jax.tree.map(pick, carries)


class EncoderOutput(NamedTuple):
    """The last layer's states, and the final carry of each direction of each layer.

    Of both directions states have 2 W numbers, forward first; they are 0 at padding.
    """

    states: Float[Array, "B S _"]
    final: tuple[tuple[Carry, ...], ...]


class Encoder(TextEncoder):
    """A stack of recurrent layers over a text, in one direction or in both.

    Of the source `a b c END`, "forward" reads a b c END and "backward" reads END c b a. The order
    of Sutskever et al. 2014, c b a END, is "forward" over a source that the task gives in the order
    `Reversed`. With "both", every layer of either direction reads the states of both directions of
    the layer below. Dropout is applied between layers and nowhere else.

    Attributes:
        width: W, of one direction.

    Source: Schuster & Paliwal 1997 (both directions); Bahdanau et al. 2015, section 3.2; Zaremba et
        al. 2014, section 3.2 (dropout).
    """

    cell: Cell = field(default_factory=LSTM)
    width: PositiveInt = 512
    layers: PositiveInt = 1
    direction: Literal["forward", "backward", "both"] = "both"

    def setup(self) -> None:
        forward = 0 if self.direction == "backward" else self.layers
        backward = 0 if self.direction == "forward" else self.layers
        self.forward = [RNNLayer(self.cell, self.width) for _ in range(forward)]
        self.backward = [RNNLayer(self.cell, self.width, "backward") for _ in range(backward)]
        self.drop = Dropout(inherited(self, "dropout"))

    def __call__(
        self, x: Embedded, present: Present, *, sentence: Text | None = None, deterministic: bool
    ) -> EncoderOutput:
        """Return the states of texts; `sentence` numbers packed rows' sentences, see `RNNLayer`."""
        final = []
        stacks = [stack for stack in (self.forward, self.backward) if stack]
        for number, layer in enumerate(zip(*stacks, strict=True)):
            if number:
                x = self.drop(x, deterministic=deterministic)
            read = [direction(x, present, sentence) for direction in layer]
            states, carries = zip(*read, strict=True)
            x = jnp.concatenate(states, axis=-1)
            final.append(carries)
        return EncoderOutput(x, tuple(final))

    @nn.nowrap
    def state_width(self, width: int) -> int:
        return self.width * (2 if self.direction == "both" else 1)

    def read(self, x: Embedded, present: Present, *, deterministic: bool) -> EncodedText:
        """Return the states; the query is the last layer's after the last word that they read."""
        states, final = self(x, present, deterministic=deterministic)
        query = jnp.concatenate([carry[-1] for carry in final[-1]], axis=-1)
        return EncodedText(states, query[:, None])
