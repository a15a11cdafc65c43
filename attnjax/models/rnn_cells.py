"""Recurrent cells: LSTM, gated recurrent units, and the simple recurrent network.

Every cell is a module over the pure function of the same name. The product with the word, x W + b,
is computed for all words at once, before the loop over time; a step computes only the product with
the state. Each gate has a block of W columns in both matrices, drawn as a matrix of its own: the
word's by Glorot & Bengio 2010, eq. 16, the state's orthogonal (Saxe et al. 2014).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.config.constraints import PositiveInt, SetByOwner
from attnjax.nn.lift import inherited
from attnjax.nn.linear import Dense
from attnjax.nn.parameter_kinds import Kind, declare
from attnjax.nn.product import product

declare(Kind.UNDECAYED, "candidate_bias")

recur = partial(product, "bw,wg->bg")
"""h U: the state times its matrix, [B, W] and [W, G] to [B, G]."""

GLOROT = nn.initializers.glorot_uniform()

type Carry = tuple[Array, ...]
"""The arrays [B, W] that a cell passes from one word to the next; the last is the state h."""
Projected = Float[Array, "B G"]
"""x W + b of a word; G is the number of gates times W, in every cell."""
Recurrent = Float[Array, "W G"]
"""U, of all gates."""


def lstm(carry: Carry, projected: Projected, recurrent: Recurrent) -> Carry:
    """Long short-term memory: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').

        [i, f, g, o] = x W + b + h U

    are input gate, forget gate, candidate and output gate, in this order; the carry is (c, h).

    Source: Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000, section 3.
    """
    c, h = carry
    i, f, g, o = jnp.split(projected + recur(h, recurrent), 4, axis=-1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    return c, nn.sigmoid(o) * jnp.tanh(c)


def gru_reset_before(carry: Carry, projected: Projected, recurrent: Recurrent) -> Carry:
    """Gated recurrent unit, reset before the product: h' = (1 - z) h + z tanh(x W + b + (r h) U).

    z and r are sigmoids of x W_z + b_z + h U_z and x W_r + b_r + h U_r. The order of the columns is
    z, r, candidate. A step needs two products, because r h is known only after r.

    Source: Bahdanau et al. 2015, appendix A.1.1; Cho et al. 2014, eq. 5 to 8, with 1 - z for z.
    """
    (h,) = carry
    gates = 2 * h.shape[-1]
    z, r = jnp.split(nn.sigmoid(projected[:, :gates] + recur(h, recurrent[:, :gates])), 2, axis=-1)
    candidate = jnp.tanh(projected[:, gates:] + recur(r * h, recurrent[:, gates:]))
    return ((1 - z) * h + z * candidate,)


def gru(
    carry: Carry, projected: Projected, recurrent: Recurrent, bias: Float[Array, " W"]
) -> Carry:
    """Gated recurrent unit, reset after the product: h' = (1-z) tanh(x W + b + r (h U + c)) + z h.

    z, r and the order of the columns are as in `gru_reset_before`, c is `bias`. A step needs one
    product.

    Source: cuDNN's CUDNN_GRU, which is also Flax's GRUCell and PyTorch's GRU.
    """
    (h,) = carry
    z_x, r_x, candidate_x = jnp.split(projected, 3, axis=-1)
    z_h, r_h, candidate_h = jnp.split(recur(h, recurrent), 3, axis=-1)
    z, r = nn.sigmoid(z_x + z_h), nn.sigmoid(r_x + r_h)
    candidate = jnp.tanh(candidate_x + r * (candidate_h + jnp.broadcast_to(bias, h.shape)))
    return ((1 - z) * candidate + z * h,)


def elman(carry: Carry, projected: Projected, recurrent: Recurrent) -> Carry:
    """Simple recurrent network: h' = tanh(x W + b + h U).

    Source: Elman 1990, with tanh instead of the logistic function.
    """
    (h,) = carry
    return (jnp.tanh(projected + recur(h, recurrent)),)


class Cell(nn.Module, ABC):
    """A recurrent cell: `project` computes x W + b of all words, and each call makes one step.

    All arrays have the dtype of the input. The projection has `gates` blocks of `width` columns, of
    the width W of the state; it is None until the network around the cell sets it.
    """

    gates: ClassVar[int]
    width: Annotated[PositiveInt | None, SetByOwner()] = None

    def initial(self, batch: int, dtype: Any) -> Carry:
        """The carry before the first word: zeros, [B, W]."""
        return (jnp.zeros((batch, inherited(self, "width")), dtype),)

    @nn.compact
    def project(self, x: Float[Array, "*B D"], *, fed: int = 0) -> Float[Array, "*B G"]:
        """The projection of the words, x W + b.

        `fed` is F, the width of the further input of `feed`; 0: there is none. W is drawn as the
        first D rows of the matrix [D + F, G] for both inputs.
        """

        def first_rows(key: Array, shape: tuple[int, ...]) -> Array:
            return GLOROT(key, (shape[0] + fed, shape[1]))[: shape[0]]

        columns = (self.gates * inherited(self, "width"),)
        draw = self._each_gate(first_rows)
        y = Dense(columns, bias=False, initializer=draw, name="input")(x)
        bias = self.param("bias", self._bias, columns)
        return y + jnp.broadcast_to(bias, y.shape)

    @nn.compact
    def feed(self, x: Float[Array, "B F"]) -> Projected:
        """The projection of a further input, x V.

        The sum of both projections is the product of [word; x] with the matrix [W; V]. V is drawn
        as the last F rows of that matrix, so that `project` must be called first, with `fed` = F.
        """
        words = self.variables["params"]["input"]["kernel"].shape[0]

        def last_rows(key: Array, shape: tuple[int, ...]) -> Array:
            return GLOROT(key, (words + shape[0], shape[1]))[words:]

        columns = (self.gates * inherited(self, "width"),)
        return Dense(columns, bias=False, initializer=self._each_gate(last_rows), name="feed")(x)

    @nn.compact
    def __call__(self, carry: Carry, projected: Projected) -> tuple[Carry, Float[Array, "B W"]]:
        """The carry after a word with this projection, and its state h."""
        carry = self._after(carry, projected)
        return carry, carry[-1]

    @abstractmethod
    def _after(self, carry: Carry, projected: Projected) -> Carry:
        """The carry after a word."""

    def _bias(self, key: Array, shape: tuple[int, ...]) -> Array:
        """The initial value of b."""
        return nn.initializers.zeros(key, shape)

    def _recurrent(self) -> Recurrent:
        draw, width = self._each_gate(nn.initializers.orthogonal()), inherited(self, "width")
        return self.param("recurrent", draw, (width, self.gates * width))

    def _each_gate(self, initializer: Callable[..., Array]) -> Callable[..., Array]:
        """An initializer that draws the block of each gate as a matrix of its own."""

        def initial(key: Array, shape: tuple[int, ...]) -> Array:
            keys = jax.random.split(key, self.gates)
            block = shape[0], shape[1] // self.gates
            blocks = jax.vmap(lambda own: initializer(own, block))(keys)
            return jnp.moveaxis(blocks, 0, 1).reshape(shape)

        return initial


class LSTM(Cell):
    """Long short-term memory, see `lstm`.

    Attributes:
        forget: the initial bias of the forget gate; 1 opens the gate (Jozefowicz et al. 2015).
    """

    gates = 4
    forget: float = 1.0

    def initial(self, batch: int, dtype: Any) -> Carry:
        return super().initial(batch, dtype) * 2

    def _bias(self, key: Array, shape: tuple[int, ...]) -> Array:
        blocks = nn.initializers.zeros(key, (self.gates, shape[0] // self.gates))
        return blocks.at[1].set(self.forget).reshape(shape)

    def _after(self, carry: Carry, projected: Projected) -> Carry:
        return lstm(carry, projected, self._recurrent())


class GRUResetBefore(Cell):
    """The gated unit of Cho et al. 2014 and Bahdanau et al. 2015, see `gru_reset_before`."""

    gates = 3

    def _after(self, carry: Carry, projected: Projected) -> Carry:
        return gru_reset_before(carry, projected, self._recurrent())


class GRU(Cell):
    """The gated recurrent unit of cuDNN, PyTorch and Flax, see `gru`."""

    gates = 3

    def _after(self, carry: Carry, projected: Projected) -> Carry:
        bias = self.param("candidate_bias", nn.initializers.zeros, carry[-1].shape[1:])
        return gru(carry, projected, self._recurrent(), bias)


class Elman(Cell):
    """The simple recurrent network, see `elman`."""

    gates = 1

    def _after(self, carry: Carry, projected: Projected) -> Carry:
        return elman(carry, projected, self._recurrent())
