"""Recurrent decoders. What tells them apart is where in a step the attention stands."""

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Padding
from attnjax.attention.score import Additive, General
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.errors import UserError
from attnjax.models.rnn_cells import LSTM, Carry, Cell, GRUResetBefore
from attnjax.models.rnn_encoder import EncoderOutput
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherited
from attnjax.nn.linear import Dense


class Decoder(nn.Module):
    """What every recurrent decoder is: a step, and around it what needs no loop.

    Word by word, `step` is scanned; `project` and `output` take all words at once.
    """

    @property
    def out_width(self) -> int:
        """The width of what the logits are the product of."""
        raise NotImplementedError

    def start(self, read: EncoderOutput, mask: Padding) -> tuple[Any, Any]:
        """What is held once a sentence, and what is carried; every leaf of that leads with B.

        Raises:
            UserError: it cannot start from such an encoder.
        """
        raise NotImplementedError

    def project(self, words: jax.Array) -> jax.Array:
        """What the given words [B, T, E] put into the unit: [B, T, any]."""
        raise NotImplementedError

    def step(
        self, constants: Any, carry: Any, projected: jax.Array, *, deterministic: bool
    ) -> tuple[Any, Any]:
        """One word [B, any] -> the carry after it, and what `output` is to see of it."""
        raise NotImplementedError

    def output(self, words: jax.Array, seen: Any, *, deterministic: bool) -> jax.Array:
        """The words [B, T, E], what the steps saw [B, T, ...] -> [B, T, out_width]."""
        raise NotImplementedError


class Feeding(nn.Module):
    """What of the last word's attentional vector goes into the next step."""

    def __call__(self, projected: jax.Array, attentional: jax.Array) -> jax.Array:
        """[B, G], [B, W] -> [B, G]."""
        raise NotImplementedError


class InputFeeding(Feeding):
    """All of it: the unit's input is [word; attentional vector]. Luong et al. 2015, section 3.3."""

    @nn.compact
    def __call__(self, projected: jax.Array, attentional: jax.Array) -> jax.Array:
        """Add the vector's part of the product."""
        return projected + Dense((projected.shape[-1],), bias=False, name="feed")(attentional)


class NoInputFeeding(Feeding):
    """Nothing of it. Luong et al. 2015, Figure 2."""

    def __call__(self, projected: jax.Array, attentional: jax.Array) -> jax.Array:
        """Return the projected word."""
        del attentional
        return projected


class LuongDecoder(Decoder):
    """Attend after the unit: h_t, then a context c_t for h_t, then tanh(W [c_t; h_t]).

    The units start from the encoder's carry, layer by layer; both directions of a layer stand side
    by side. Dropout falls between layers and on what the logits are made of.

    Attributes:
        attention: from h_t over the source's states; None: h_t itself is what the logits are made
            of, and nothing of the source but the carry is seen (Sutskever et al. 2014).
        cell: the template of every layer's unit.
        width: W, of its state.
        layers: how many.
        feeding: what of the attentional vector goes into the next step.
        dropout: None means the model's.

    Source: Luong et al. 2015, section 3, eq. 5; with no attention Sutskever et al. 2014, section 2.
    """

    attention: AttentionBase | None = field(default_factory=lambda: Attention(score=General()))
    cell: Cell = field(default_factory=LSTM)
    width: PositiveInt = 512
    layers: PositiveInt = 1
    feeding: Feeding = field(default_factory=InputFeeding)
    dropout: DropoutRate | None = None

    @property
    def out_width(self) -> int:
        """W."""
        return self.width

    def setup(self) -> None:
        """Make each layer a unit of its own."""
        self.unit = [clone_template(self.cell, width=self.width) for _ in range(self.layers)]
        self.merge = Dense((self.width,), bias=False)
        self.drop = Dropout(inherited(self, "dropout"))

    def start(self, read: EncoderOutput, mask: Padding) -> tuple[Any, Any]:
        carries = tuple(
            tuple(jnp.concatenate(leaves, axis=-1) for leaves in zip(*layer, strict=True))
            for layer in read.final
        )
        batch, dtype = read.states.shape[0], read.states.dtype
        wanted = tuple(unit.initial(batch, dtype) for unit in self.unit)
        if _widths(carries) != _widths(wanted):
            raise UserError(
                "the decoder starts from the encoder's carry, layer by layer: widths "
                f"{_widths(wanted)} were wanted (decoder.cell, width and layers); the encoder's, "
                f"directions side by side, are {_widths(carries)}"
            )
        memory = None
        if self.attention is not None:
            memory = self.attention.prepare(read.states, read.states)
        attentional = jnp.zeros((batch, self.width), dtype)
        return (memory, mask), (carries, attentional, jnp.zeros(batch, jnp.int32))

    def project(self, words: jax.Array) -> jax.Array:
        return self.unit[0].project(words)

    def step(
        self, constants: Any, carry: Any, projected: jax.Array, *, deterministic: bool
    ) -> tuple[Any, Any]:
        (memory, mask), (carries, attentional, position) = constants, carry
        if self.attention is not None:
            projected = self.feeding(projected, attentional)
        after: list[Carry] = []
        state = attentional
        for layer, (unit, before) in enumerate(zip(self.unit, carries, strict=True)):
            if layer:
                projected = unit.project(self.drop(state, deterministic=deterministic))
            carried, state = unit(before, projected)
            after.append(carried)
        if self.attention is not None:
            context = self.attention.attend(
                state[:, None],
                memory,
                mask,
                query_position=position[:, None],
                deterministic=deterministic,
            )[:, 0]
            state = jnp.tanh(self.merge(jnp.concatenate([context, state], axis=-1)))
        return (tuple(after), state, position + 1), state

    def output(self, words: jax.Array, seen: Any, *, deterministic: bool) -> jax.Array:
        del words
        return self.drop(seen, deterministic=deterministic)


class BahdanauDecoder(Decoder):
    """Attend before the unit: c_i for s_(i-1), then s_i from the word y_(i-1), c_i and s_(i-1).

    The logits are made of t_i, the larger of each two of U s_(i-1) + V y_(i-1) + C c_i, and s_0 is
    tanh(W h), h the last state that the encoder read: of the backward direction, if there is one.

    Attributes:
        attention: from s_(i-1) over the source's states; `FixedVector` gives RNNencdec.
        cell: the template of the unit.
        width: of its state.
        maxout: the width of t_i.
        dropout: on t_i; None means the model's.

    Source: Bahdanau et al. 2015, section 3.1 and appendix A.2.2; Goodfellow et al. 2013 (maxout).
    """

    attention: AttentionBase = field(default_factory=lambda: Attention(score=Additive()))
    cell: Cell = field(default_factory=GRUResetBefore)
    width: PositiveInt = 512
    maxout: PositiveInt = 256
    dropout: DropoutRate | None = None

    @property
    def out_width(self) -> int:
        """The width of t_i."""
        return self.maxout

    def setup(self) -> None:
        """Make the unit of the template."""
        self.unit = clone_template(self.cell, width=self.width)
        self.first = Dense((self.width,), bias=False)
        self.context = Dense((self.cell.gates * self.width,), bias=False)
        self.deep = Dense((2 * self.maxout,))
        self.drop = Dropout(inherited(self, "dropout"))

    def start(self, read: EncoderOutput, mask: Padding) -> tuple[Any, Any]:
        last = self.unit.hidden(read.final[-1][-1])
        batch, dtype = read.states.shape[0], read.states.dtype
        *rest, _ = self.unit.initial(batch, dtype)
        carried = (*rest, jnp.tanh(self.first(last)))
        memory = self.attention.prepare(read.states, read.states)
        return (memory, mask), (carried, jnp.zeros(batch, jnp.int32))

    def project(self, words: jax.Array) -> jax.Array:
        return self.unit.project(words)

    def step(
        self, constants: Any, carry: Any, projected: jax.Array, *, deterministic: bool
    ) -> tuple[Any, Any]:
        (memory, mask), (carried, position) = constants, carry
        before = self.unit.hidden(carried)
        context = self.attention.attend(
            before[:, None],
            memory,
            mask,
            query_position=position[:, None],
            deterministic=deterministic,
        )[:, 0]
        carried, _ = self.unit(carried, projected + self.context(context))
        return (carried, position + 1), (before, context)

    def output(self, words: jax.Array, seen: Any, *, deterministic: bool) -> jax.Array:
        deep = self.deep(jnp.concatenate([*seen, words], axis=-1))
        pairs = deep.reshape(*deep.shape[:-1], self.maxout, 2)
        return self.drop(pairs.max(-1), deterministic=deterministic)


def _widths(carries: tuple[Carry, ...]) -> list[list[int]]:
    """Of each layer's carry."""
    return [[leaf.shape[-1] for leaf in carry] for carry in carries]
