"""Recurrent cells: carry, projected word -> carry, state.

Every cell is a module over the pure function of its name. The part that depends on the word alone,
x W + b, is a product of its own, computed for all words at once; a step then computes the product
with the carry, and nothing else. Each gate's W columns of a matrix are drawn as a matrix of their
own: by Glorot & Bengio 2010, eq. 16, over the word, orthogonal over the state (Saxe et al. 2014).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.config.constraints import PositiveInt, SetByOwner
from attnjax.nn.linear import Dense

GLOROT = nn.initializers.glorot_uniform()

type Carry = tuple[jax.Array, ...]
"""What a cell hands from one word to the next: arrays [B, W], the state h last."""


def lstm(carry: Carry, projected: jax.Array, recurrent: jax.Array) -> Carry:
    """Long short-term memory: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').

    [i, f, g, o] = x W + b + h U: input gate, forget gate, candidate, output gate, in this order.

    Args:
        carry: the cell c and the state h, [B, W] each.
        projected: x W + b, [B, 4 W].
        recurrent: U, [W, 4 W].

    Returns:
        c' and h'.

    Source: Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000, section 3.
    """
    c, h = carry
    i, f, g, o = jnp.split(projected + h @ recurrent, 4, axis=-1)
    c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
    return c, nn.sigmoid(o) * jnp.tanh(c)


def gru_reset_before(carry: Carry, projected: jax.Array, recurrent: jax.Array) -> Carry:
    """Gated recurrent unit, reset before the product: h' = (1 - z) h + z tanh(x W + b + (r h) U).

    z and r are sigmoids of x W_z + b_z + h U_z and x W_r + b_r + h U_r. Columns stand in the order
    z, r, candidate. The reset state is not known before r, so a step makes two products.

    Args:
        carry: the state h, [B, W].
        projected: x W + b, [B, 3 W].
        recurrent: U, [W, 3 W].

    Returns:
        h'.

    Source: Bahdanau et al. 2015, appendix A.1.1; Cho et al. 2014, eq. 5 to 8, has 1 - z for z.
    """
    (h,) = carry
    gates = 2 * h.shape[-1]
    z, r = jnp.split(nn.sigmoid(projected[:, :gates] + h @ recurrent[:, :gates]), 2, axis=-1)
    candidate = jnp.tanh(projected[:, gates:] + (r * h) @ recurrent[:, gates:])
    return ((1 - z) * h + z * candidate,)


def gru(carry: Carry, projected: jax.Array, recurrent: jax.Array, bias: jax.Array) -> Carry:
    """Gated recurrent unit, reset after the product: h' = (1-z) tanh(x W + b + r (h U + c)) + z h.

    z, r and the order of the columns are those of `gru_reset_before`; one product a step is enough.

    Args:
        carry: the state h, [B, W].
        projected: x W + b, [B, 3 W].
        recurrent: U, [W, 3 W].
        bias: c, [W].

    Returns:
        h'.

    Source: cuDNN's CUDNN_GRU, which is also Flax's GRUCell and PyTorch's GRU.
    """
    (h,) = carry
    z_x, r_x, candidate_x = jnp.split(projected, 3, axis=-1)
    z_h, r_h, candidate_h = jnp.split(h @ recurrent, 3, axis=-1)
    z, r = nn.sigmoid(z_x + z_h), nn.sigmoid(r_x + r_h)
    candidate = jnp.tanh(candidate_x + r * (candidate_h + jnp.broadcast_to(bias, h.shape)))
    return ((1 - z) * candidate + z * h,)


def elman(carry: Carry, projected: jax.Array, recurrent: jax.Array) -> Carry:
    """The simple recurrent network: h' = tanh(x W + b + h U).

    Args:
        carry: the state h, [B, W].
        projected: x W + b, [B, W].
        recurrent: U, [W, W].

    Returns:
        h'.

    Source: Elman 1990, with tanh where his units are logistic.
    """
    (h,) = carry
    return (jnp.tanh(projected + h @ recurrent),)


class Cell(nn.Module, ABC):
    """A recurrent cell: `project` computes what depends on the word alone, then a step goes on.

    `project` takes all words at once, outside the loop over time. All arrays have the dtype of the
    input.

    Attributes:
        gates: how many blocks of `width` columns the projection has.
        width: W, of the state; None until the network around the cell sets it.
    """

    gates: ClassVar[int]
    width: Annotated[PositiveInt | None, SetByOwner()] = None

    def initial(self, batch: int, dtype: Any) -> Carry:
        """The carry before the first word: zeros, [B, W]."""
        return (jnp.zeros((batch, self._width()), dtype),)

    def hidden(self, carry: Carry) -> jax.Array:
        """The state h of a carry, [B, W]."""
        return carry[-1]

    @nn.compact
    def project(self, x: jax.Array, *, fed: int = 0) -> jax.Array:
        """The words' part of the cell's input, x W + b: [..., D] -> [..., gates * W].

        Args:
            x: the words.
            fed: F, the width of a further input, for `feed`. W is drawn as the first D rows of the
                matrix [D + F, gates * W] over both inputs.
        """

        def first_rows(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            return GLOROT(key, (shape[0] + fed, shape[1]))[: shape[0]]

        columns = (self.gates * self._width(),)
        draw = self._each_gate(first_rows)
        y = Dense(columns, bias=False, initializer=draw, name="input")(x)
        bias = self.param("bias", self._bias, columns)
        return y + jnp.broadcast_to(bias, y.shape)

    @nn.compact
    def feed(self, x: jax.Array) -> jax.Array:
        """A further input's part of the cell's input, x V: [..., F] -> [..., gates * W].

        Matrix [W; V] times vector [word; x] is the sum of the two parts. V is drawn as the last F
        rows of that matrix, so `project` comes first, with `fed` set to F.
        """
        words = self.variables["params"]["input"]["kernel"].shape[0]

        def last_rows(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            return GLOROT(key, (words + shape[0], shape[1]))[words:]

        columns = (self.gates * self._width(),)
        return Dense(columns, bias=False, initializer=self._each_gate(last_rows), name="feed")(x)

    @abstractmethod
    def __call__(self, carry: Carry, projected: jax.Array) -> tuple[Carry, jax.Array]:
        """One word, projected [B, gates * W] -> the carry after it, and its state h [B, W]."""

    def _width(self) -> int:
        if self.width is None:
            raise ValueError("a cell's width must be a number before it is used; got None")
        return self.width

    def _bias(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """The initial value of b."""
        return nn.initializers.zeros(key, shape)

    def _recurrent(self) -> jax.Array:
        """U, [W, gates * W]."""
        draw = self._each_gate(nn.initializers.orthogonal())
        return self.param("recurrent", draw, (self._width(), self.gates * self._width()))

    def _each_gate(self, initializer: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
        """An initializer that draws each gate's block as a matrix of its own, side by side."""

        def initial(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            keys = jax.random.split(key, self.gates)
            blocks = jax.vmap(lambda own: initializer(own, (shape[0], self._width())))(keys)
            return jnp.moveaxis(blocks, 0, 1).reshape(shape)

        return initial


class LSTM(Cell):
    """`lstm` as a part; carries (c, h).

    Attributes:
        width: W.
        forget: the initial bias of the forget gate; 1 opens the gate (Jozefowicz et al. 2015).
    """

    gates = 4
    forget: float = 1.0

    def initial(self, batch: int, dtype: Any) -> Carry:
        return super().initial(batch, dtype) * 2

    def _bias(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        blocks = nn.initializers.zeros(key, (self.gates, self._width()))
        return blocks.at[1].set(self.forget).reshape(shape)

    @nn.compact
    def __call__(self, carry: Carry, projected: jax.Array) -> tuple[Carry, jax.Array]:
        """Return (c', h') and h'."""
        carry = lstm(carry, projected, self._recurrent())
        return carry, self.hidden(carry)


class GRUResetBefore(Cell):
    """`gru_reset_before` as a part: the cell of Cho et al. 2014 and of Bahdanau et al. 2015."""

    gates = 3

    @nn.compact
    def __call__(self, carry: Carry, projected: jax.Array) -> tuple[Carry, jax.Array]:
        """Return (h',) and h'."""
        carry = gru_reset_before(carry, projected, self._recurrent())
        return carry, self.hidden(carry)


class GRU(Cell):
    """`gru` as a part: the gated recurrent unit of cuDNN, PyTorch and Flax."""

    gates = 3

    @nn.compact
    def __call__(self, carry: Carry, projected: jax.Array) -> tuple[Carry, jax.Array]:
        """Return (h',) and h'."""
        bias = self.param("candidate_bias", nn.initializers.zeros, (self._width(),))
        carry = gru(carry, projected, self._recurrent(), bias)
        return carry, self.hidden(carry)


class Elman(Cell):
    """`elman` as a part: the plain recurrence."""

    gates = 1

    @nn.compact
    def __call__(self, carry: Carry, projected: jax.Array) -> tuple[Carry, jax.Array]:
        """Return (h',) and h'."""
        carry = elman(carry, projected, self._recurrent())
        return carry, self.hidden(carry)
