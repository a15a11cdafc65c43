"""A unit over a whole text: one direction, and the stack of them that reads a source."""

from dataclasses import field
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.errors import UserError
from attnjax.models.rnn_cells import LSTM, Carry, Cell
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherited, scan_time


class Layer(nn.Module):
    """One unit over a text in one direction.

    Padding keeps the carry as it is, so reading backward begins at the last word that is there;
    states at padding are 0.

    Attributes:
        cell: the template of the unit.
        width: W, of its state.
        direction: from which end it reads; the states stand at the text's own places either way.
    """

    cell: Cell
    width: int
    direction: Literal["forward", "backward"] = "forward"

    def setup(self) -> None:
        """Make the unit of the template."""
        self.unit = clone_template(self.cell, width=self.width)

    def __call__(self, x: jax.Array, present: jax.Array) -> tuple[jax.Array, Carry]:
        """Texts [B, S, D], present [B, S], True = a word -> states [B, S, W], the final carry."""

        def step(
            unit: Cell, carry: Carry, word: tuple[jax.Array, jax.Array]
        ) -> tuple[Carry, jax.Array]:
            projected, here = word[0], word[1][:, None]
            after, state = unit(carry, projected)
            after = jax.tree.map(lambda new, old: jnp.where(here, new, old), after, carry)
            return after, jnp.where(here, state, jnp.zeros((), state.dtype))

        projected = self.unit.project(x)
        start = self.unit.initial(x.shape[0], projected.dtype)
        read = scan_time(step, direction=self.direction)
        final, states = read(self.unit, start, (projected, present))
        return states, final


class EncoderOutput(NamedTuple):
    """What an encoder makes of its texts.

    Attributes:
        states: the last layer's, [B, S, W], or [B, S, 2 W] of both directions, forward first; 0 at
            padding.
        final: the carry after the last word read, of each layer, of each direction.
    """

    states: jax.Array
    final: tuple[tuple[Carry, ...], ...]


class Encoder(nn.Module):
    """Layers of a unit over a text, in one direction or in both.

    In both directions, every layer of each reads the states of both of the layer below. Dropout
    falls between layers and on nothing else.

    Attributes:
        cell: the template of every layer's unit.
        width: W, of one direction.
        layers: how many, at least 1.
        direction: "backward" reads a text from its end, as Sutskever et al. 2014 do.
        dropout: between layers; None means the model's.

    Raises:
        UserError: no layer.

    Source: Schuster & Paliwal 1997 (both directions); Bahdanau et al. 2015, section 3.2; Zaremba et
        al. 2014, section 3.2 (dropout).
    """

    cell: Cell = field(default_factory=LSTM)
    width: PositiveInt = 512
    layers: PositiveInt = 1
    direction: Literal["forward", "backward", "both"] = "both"
    dropout: DropoutRate | None = None

    def setup(self) -> None:
        """Make every layer, of every direction, a unit of its own."""
        if self.layers < 1:
            raise UserError(f"an encoder needs at least 1 layer; got {self.layers}")
        self.forward = self._stack("forward")
        self.backward = self._stack("backward")
        self.drop = Dropout(inherited(self, "dropout"))

    def _stack(self, direction: Literal["forward", "backward"]) -> list[Layer]:
        """The layers of one direction, if the encoder reads in it."""
        if self.direction not in (direction, "both"):
            return []
        return [
            Layer(cell=self.cell, width=self.width, direction=direction) for _ in range(self.layers)
        ]

    def __call__(self, x: jax.Array, present: jax.Array, *, deterministic: bool) -> EncoderOutput:
        """Texts [B, S, D], present [B, S], True = a word."""
        final = []
        stacks = [stack for stack in (self.forward, self.backward) if stack]
        for number, layer in enumerate(zip(*stacks, strict=True)):
            if number:
                x = self.drop(x, deterministic=deterministic)
            states, carries = zip(*(one(x, present) for one in layer), strict=True)
            x = jnp.concatenate(states, axis=-1)
            final.append(carries)
        return EncoderOutput(x, tuple(final))
