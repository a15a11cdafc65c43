"""Recurrent decoders: Luong's attends after the cell, Bahdanau's before it."""

from abc import ABC, abstractmethod
from dataclasses import field
from typing import Any, NamedTuple

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Mask
from attnjax.attention.position import Positions
from attnjax.attention.score.base import Additive, General
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.errors import UserError
from attnjax.models.rnn_cells import LSTM, Carry, Cell, GRUResetBefore, Projected
from attnjax.models.shapes import Embedded, Text
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherited
from attnjax.nn.linear import Dense


class DecoderSource(NamedTuple):
    """What a decoder knows of a source at every step: its memory, if it attends, and its words.

    The positions of its words are 0, 1, ... if they are None.
    """

    memory: Any
    mask: Mask
    positions: Text | None = None

    def context(
        self, attention: AttentionBase, query: Array, position: Array, *, deterministic: bool
    ) -> Array:
        """Return the contexts [B, A] of a step's queries [B, W] at positions [B] of the target."""
        positions = Positions(position[:, None], self.positions)
        context = attention.attend(
            query[:, None], self.memory, self.mask, positions=positions, deterministic=deterministic
        )
        return context[:, 0]


class RNNDecoder(nn.Module, ABC):
    """A recurrent decoder: `step` computes one word, `project` and `output` all words at once."""

    @property
    @abstractmethod
    def out_width(self) -> int:
        """The width of the vectors that the output embedding is multiplied with."""

    @abstractmethod
    def prepare(self, states: Embedded) -> Any:
        """Return the memory of the source's states for the attention, or None without one."""

    @abstractmethod
    def first_state(self, final: tuple[tuple[Carry, ...], ...]) -> Any:
        """Return the state before the first word, leaves [B, ...], from the encoder's final carry.

        Raises:
            UserError: the decoder cannot start from such an encoder.
        """

    @abstractmethod
    def project(self, words: Float[Array, "B T E"]) -> Float[Array, "B T G"]:
        """Project the words for the cell."""

    @abstractmethod
    def step(
        self, source: DecoderSource, state: Any, projected: Projected, *, deterministic: bool
    ) -> tuple[Any, Any]:
        """Return the state after one projected word, and the step's part of `output`."""

    @abstractmethod
    def output(
        self, words: Float[Array, "B T E"], outputs: Any, *, deterministic: bool
    ) -> Float[Array, "B T W"]:
        """Return vectors of width `out_width` from the words and all steps' outputs."""


class Feeding(nn.Module, ABC):
    """The input of the cell: the word, and perhaps the last step's attentional vector."""

    @abstractmethod
    def width(self, attentional: int) -> int:
        """Return how many numbers of an attentional vector of this width are fed."""

    def __call__(self, cell: Cell, projected: Projected, attentional: Array) -> Projected:
        """Return the projection of the cell's input."""
        fed = self.width(attentional.shape[-1])
        return projected + cell.feed(attentional) if fed else projected


class InputFeeding(Feeding):
    """The cell's input is [word; attentional vector]. Luong et al. 2015, section 3.3."""

    def width(self, attentional: int) -> int:
        return attentional


class NoInputFeeding(Feeding):
    """The cell's input is the word alone. Luong et al. 2015, Figure 2."""

    def width(self, attentional: int) -> int:
        return 0


class LuongDecoder(RNNDecoder):
    """Attention after the cell: h_t, then the context c_t for h_t, then tanh(W [c_t; h_t]).

    The last vector, the attentional one, is multiplied with the output embedding. The cells start
    from the encoder's carry, layer by layer; the two directions of a layer are concatenated.
    Dropout is applied between layers and to the attentional vector.

    Attributes:
        attention: of h_t to the source's states; None: h_t takes the place of the attentional
            vector, and the decoder knows of the source the encoder's carry alone.
        width: W, of the state of every layer's cell.
        dropout: None means the model's.

    Source: Luong et al. 2015, section 3, eq. 5; without attention Sutskever et al. 2014, section 2.
    """

    attention: AttentionBase | None = field(default_factory=lambda: Attention(score=General()))
    cell: Cell = field(default_factory=LSTM)
    width: PositiveInt = 512
    layers: PositiveInt = 1
    feeding: Feeding = field(default_factory=InputFeeding)
    dropout: DropoutRate | None = None

    @property
    def out_width(self) -> int:
        return self.width

    def setup(self) -> None:
        self.unit = [clone_template(self.cell, width=self.width) for _ in range(self.layers)]
        self.merge = Dense((self.width,), bias=False)
        self.drop = Dropout(inherited(self, "dropout"))

    def prepare(self, states: Array) -> Any:
        return None if self.attention is None else self.attention.prepare(states, states)

    def first_state(self, final: tuple[tuple[Carry, ...], ...]) -> Any:
        carries = tuple(
            tuple(jnp.concatenate(leaves, axis=-1) for leaves in zip(*layer, strict=True))
            for layer in final
        )
        batch, dtype = carries[-1][-1].shape[0], carries[-1][-1].dtype
        wanted = tuple(unit.initial(batch, dtype) for unit in self.unit)
        if _widths(carries) != _widths(wanted):
            raise UserError(
                "the decoder starts from the encoder's carry, layer by layer: widths "
                f"{_widths(wanted)} were wanted (decoder.cell, width and layers); the encoder's, "
                f"both directions together, are {_widths(carries)}"
            )
        attentional = jnp.zeros((batch, self.width), dtype)
        return carries, attentional, jnp.zeros(batch, jnp.int32)

    def project(self, words: Array) -> Array:
        fed = 0 if self.attention is None else self.feeding.width(self.width)
        return self.unit[0].project(words, fed=fed)

    def step(
        self, source: DecoderSource, state: Any, projected: Projected, *, deterministic: bool
    ) -> tuple[Any, Any]:
        carries, attentional, position = state
        if self.attention is not None:
            projected = self.feeding(self.unit[0], projected, attentional)
        new_carries: list[Carry] = []
        hidden = attentional
        for layer, (unit, carry) in enumerate(zip(self.unit, carries, strict=True)):
            if layer:
                projected = unit.project(self.drop(hidden, deterministic=deterministic))
            carry, hidden = unit(carry, projected)
            new_carries.append(carry)
        if self.attention is not None:
            context = source.context(self.attention, hidden, position, deterministic=deterministic)
            hidden = jnp.tanh(self.merge(jnp.concatenate([context, hidden], axis=-1)))
        return (tuple(new_carries), hidden, position + 1), hidden

    def output(self, words: Array, outputs: Any, *, deterministic: bool) -> Array:
        return self.drop(outputs, deterministic=deterministic)


class BahdanauDecoder(RNNDecoder):
    """Attention before the cell: c_i for s_(i-1), then s_i from the word y_(i-1), c_i and s_(i-1).

    The output embedding is multiplied with t_i, the maxout over pairs of entries of
    U s_(i-1) + V y_(i-1) + C c_i. The initial state s_0 is tanh(W h), where h is the last state
    that the encoder reads: of the backward direction, if there is one.

    Attributes:
        attention: of s_(i-1) to the source's states; `LastState` gives RNNencdec.
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
        return self.maxout

    def setup(self) -> None:
        self.unit = clone_template(self.cell, width=self.width)
        self.first = Dense((self.width,), bias=False)
        self.context = Dense((self.cell.gates * self.width,), bias=False)
        self.deep = Dense((2 * self.maxout,))
        self.drop = Dropout(inherited(self, "dropout"))

    def prepare(self, states: Array) -> Any:
        return self.attention.prepare(states, states)

    def first_state(self, final: tuple[tuple[Carry, ...], ...]) -> Any:
        last = final[-1][-1][-1]
        *rest, _ = self.unit.initial(len(last), last.dtype)
        carry = (*rest, jnp.tanh(self.first(last)))
        return carry, jnp.zeros(len(last), jnp.int32)

    def project(self, words: Array) -> Array:
        return self.unit.project(words)

    def step(
        self, source: DecoderSource, state: Any, projected: Projected, *, deterministic: bool
    ) -> tuple[Any, Any]:
        carry, position = state
        before = carry[-1]
        context = source.context(self.attention, before, position, deterministic=deterministic)
        carry, _ = self.unit(carry, projected + self.context(context))
        return (carry, position + 1), (before, context)

    def output(self, words: Array, outputs: Any, *, deterministic: bool) -> Array:
        deep = self.deep(jnp.concatenate([*outputs, words], axis=-1))
        pairs = deep.reshape(*deep.shape[:-1], self.maxout, 2)
        return self.drop(pairs.max(-1), deterministic=deterministic)


def _widths(carries: tuple[Carry, ...]) -> list[list[int]]:
    """Return the widths of each layer's carry."""
    return [[leaf.shape[-1] for leaf in carry] for carry in carries]
