"""Recurrent cells: LSTM, gated recurrent units, and the simple recurrent network.

The product with the word, x W + b, is computed for all words at once, before the loop over time; a
step computes only the product with the state. Each gate has a block of W columns in both matrices,
drawn as a matrix of its own: the word's by Glorot & Bengio 2010, eq. 16, the state's orthogonal
(Saxe et al. 2014).
"""

from abc import ABC, abstractmethod
from functools import partial
from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.config.constraints import PositiveInt, SetByOwner
from attnjax.nn.initializers import draw_by_gate
from attnjax.nn.lift import inherited
from attnjax.nn.linear import Dense
from attnjax.nn.parameter_kinds import Kind, declare
from attnjax.nn.product import product

declare(Kind.UNDECAYED, "candidate_bias")

recur = partial(product, "bw,wg->bg")
"""h U: the state times its matrix, [B, W] and [W, G] to [B, G]."""

type Carry = tuple[Array, ...]
"""The arrays [B, W] that a cell passes from one word to the next; the last is the state h."""
Projected = Float[Array, "B G"]
"""x W + b of a word; G is the number of gates times W, in every cell."""


class Cell(nn.Module, ABC):
    """A recurrent cell: `project` computes x W + b of all words, and each call makes one step.

    The projection has `gates` blocks of W columns, the `width` of the state.
    """

    gates: ClassVar[int]
    width: Annotated[PositiveInt | None, SetByOwner()] = None

    def initial(self, batch: int, dtype: Any) -> Carry:
        """Return the carry before the first word: zeros, [B, W]."""
        return (jnp.zeros((batch, inherited(self, "width")), dtype),)

    @nn.compact
    def project(self, x: Float[Array, "*B D"], *, fed: int = 0) -> Float[Array, "*B G"]:
        """Compute x W + b; F = `fed` is the width of the further input of `feed`, 0: none.

        W is drawn as the first D rows of the matrix [D + F, G] for both inputs.
        """
        columns = (self.gates * inherited(self, "width"),)
        draw = draw_by_gate(partial(_draw_rows, after=fed), self.gates)
        y = Dense(columns, bias=False, initializer=draw, name="input")(x)
        bias = self.param("bias", self._bias, columns)
        return y + jnp.broadcast_to(bias, y.shape)

    @nn.compact
    def feed(self, x: Float[Array, "B F"]) -> Projected:
        """Compute x V of a further input: with `project` [word; x] times [W; V].

        V is drawn as that matrix's last F rows: `project` must be called first, with `fed` = F.
        """
        words = self.variables["params"]["input"]["kernel"].shape[0]
        columns = (self.gates * inherited(self, "width"),)
        draw = draw_by_gate(partial(_draw_rows, before=words), self.gates)
        return Dense(columns, bias=False, initializer=draw, name="feed")(x)

    @nn.compact
    def __call__(self, carry: Carry, projected: Projected) -> tuple[Carry, Float[Array, "B W"]]:
        """Return the carry after a word with this projection, and its state h."""
        carry = self._after(carry, projected)
        return carry, carry[-1]

    @abstractmethod
    def _after(self, carry: Carry, projected: Projected) -> Carry:
        """Return the carry after a word."""

    def _bias(self, key: Array, shape: tuple[int, ...]) -> Array:
        return nn.initializers.zeros(key, shape)

    def _recurrent(self) -> Float[Array, "W G"]:
        """Return U, of all gates."""
        draw = draw_by_gate(nn.initializers.orthogonal(), self.gates)
        width = inherited(self, "width")
        return self.param("recurrent", draw, (width, self.gates * width))


def _draw_rows(key: Array, shape: tuple[int, int], *, before: int = 0, after: int = 0) -> Array:
    """Draw initial rows of a matrix that has further rows, before or after these."""
    rows, columns = shape
    whole = nn.initializers.glorot_uniform()(key, (before + rows + after, columns))
    return whole[before : before + rows]


class LSTM(Cell):
    """Long short-term memory: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').

        [i, f, g, o] = x W + b + h U

    are input gate, forget gate, candidate and output gate, in this order; the carry is (c, h).

    Attributes:
        forget: the initial bias of the forget gate; 1 opens the gate (Jozefowicz et al. 2015).

    Source: Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000, section 3.
    """

    gates = 4
    forget: float = 1.0

    def initial(self, batch: int, dtype: Any) -> Carry:
        return super().initial(batch, dtype) * 2

    def _bias(self, key: Array, shape: tuple[int, ...]) -> Array:
        blocks = nn.initializers.zeros(key, (self.gates, shape[0] // self.gates))
        return blocks.at[1].set(self.forget).reshape(shape)

    def _after(self, carry: Carry, projected: Projected) -> Carry:
        c, h = carry
        i, f, g, o = jnp.split(projected + recur(h, self._recurrent()), 4, axis=-1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        return c, nn.sigmoid(o) * jnp.tanh(c)


class GRUResetBefore(Cell):
    """Gated recurrent unit, reset before the product: h' = (1 - z) h + z tanh(x W + b + (r h) U).

    z and r are sigmoids of x W_z + b_z + h U_z and x W_r + b_r + h U_r. The order of the columns is
    z, r, candidate. A step needs two products, because r h is known only after r.

    Source: Bahdanau et al. 2015, appendix A.1.1; Cho et al. 2014, eq. 5 to 8, with 1 - z for z.
    """

    gates = 3

    def _after(self, carry: Carry, projected: Projected) -> Carry:
        (h,) = carry
        gates, recurrent = 2 * h.shape[-1], self._recurrent()
        gated = projected[:, :gates] + recur(h, recurrent[:, :gates])
        z, r = jnp.split(nn.sigmoid(gated), 2, axis=-1)
        candidate = jnp.tanh(projected[:, gates:] + recur(r * h, recurrent[:, gates:]))
        return ((1 - z) * h + z * candidate,)


class GRU(Cell):
    """Gated recurrent unit, reset after the product: h' = (1-z) tanh(x W + b + r (h U + c)) + z h.

    z, r and the order of the columns are as in `GRUResetBefore`, c is a bias. A step needs one
    product.

    Source: cuDNN's CUDNN_GRU, which is also Flax's GRUCell and PyTorch's GRU.
    """

    gates = 3

    def _after(self, carry: Carry, projected: Projected) -> Carry:
        (h,) = carry
        bias = self.param("candidate_bias", nn.initializers.zeros, h.shape[1:])
        z_x, r_x, candidate_x = jnp.split(projected, 3, axis=-1)
        z_h, r_h, candidate_h = jnp.split(recur(h, self._recurrent()), 3, axis=-1)
        z, r = nn.sigmoid(z_x + z_h), nn.sigmoid(r_x + r_h)
        candidate = jnp.tanh(candidate_x + r * (candidate_h + jnp.broadcast_to(bias, h.shape)))
        return ((1 - z) * candidate + z * h,)


class Elman(Cell):
    """Simple recurrent network: h' = tanh(x W + b + h U).

    Source: Elman 1990, with tanh instead of the logistic function.
    """

    gates = 1

    def _after(self, carry: Carry, projected: Projected) -> Carry:
        return (jnp.tanh(projected + recur(carry[-1], self._recurrent())),)
