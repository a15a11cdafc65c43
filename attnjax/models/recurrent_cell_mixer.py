"""A recurrent cell in the place of a decoder layer's self-attention."""

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import MaskLike, as_mask
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, OneQuery, Queries, Values
from attnjax.attention.state.key_rules import key_rules
from attnjax.errors import UserError
from attnjax.models.rnn_cells import LSTM, Cell
from attnjax.nn.lift import scan_time


class RecurrentCellMixer(AttentionBase):
    """context[t] = h_t, the state of a recurrent cell that has read the words up to t.

        h_t = cell(h_{t-1}, x_t)

    The state is as wide as the layer, D, and queries are not read: it is self-attention alone, of a
    decoder's layer, where `Recurrence` reads in both directions. Time grows with T, word by word; a
    search keeps the state alone. There are no weights. The masks are `Causal` and, with it,
    `Padding`, whose words leave the state as it is.

    Source: Hochreiter and Schmidhuber 1997, Gers et al. 2000 (the default, `LSTM`).
    """

    may_be_zero = True

    cell: Cell = field(default_factory=LSTM)

    @nn.compact
    def prepare(self, key: Keys, value: Values) -> Array:
        """Return the products of all words with the cell's matrix, [..., S, G]."""
        return self._unit(key.shape[-1]).project(key)

    @nn.compact
    def start(self, memory: Array) -> Any:
        leading, columns = memory.shape[:-2], memory.shape[-1]
        carry = self._unit(columns // self.cell.gates).initial(1, memory.dtype)
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (*leading, 1, x.shape[-1])), carry)

    @nn.compact
    def step(self, query: OneQuery, memory: Array, state: Any) -> tuple[jax.Array, Any]:
        leading, width = memory.shape[:-2], query.shape[-1]
        rows = jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), (state, memory))
        after, h = self._unit(width)(*rows)
        h, after = jax.tree.map(lambda x: x.reshape(*leading, 1, x.shape[-1]), (h, after))
        return h, after

    @nn.compact
    def attend(
        self,
        query: Queries,
        memory: Array,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        in_order = all(numbers is None for numbers in positions)
        if query.shape[:-1] != memory.shape[:-1] or not in_order:
            raise UserError(
                "RecurrentCellMixer reads one sequence in its order: it is self-attention, without "
                "positions; got other queries than keys, or positions"
            )
        present, _, causal = key_rules(as_mask(mask, query), "RecurrentCellMixer", packs=False)
        if not causal:
            raise UserError(
                "RecurrentCellMixer reads from left to right: it wants the mask Causal, and stands "
                "in a decoder's layer; in an encoder's Recurrence does"
            )
        every = jnp.ones(memory.shape[:-1], bool)
        read = every if present is None else every & present

        def step(cell: Cell, carry: Any, word: tuple[Array, Array]) -> tuple[Any, Array]:
            projected, present = word
            after, h = cell(carry, projected)
            after = jax.tree.map(lambda new, old: jnp.where(present, new, old), after, carry)
            return after, h

        unit, flat = self._unit(query.shape[-1]), memory.reshape(-1, *memory.shape[-2:])
        start = unit.initial(flat.shape[0], flat.dtype)
        words = flat, read.reshape(*flat.shape[:-1], 1)
        _, states = scan_time(step)(unit, start, words)
        return states.reshape(query.shape)

    def _unit(self, width: int) -> Cell:
        """Return the cell with states of this width, the same in every call."""
        return self.cell.clone(parent=self, name="unit", width=width)
