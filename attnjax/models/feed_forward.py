"""Feed-forward networks of a Transformer layer, which compute each position separately."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Literal

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.nn.dropout import Dropout
from attnjax.nn.linear import Dense

type Activation = Literal["relu", "leaky_relu", "gelu", "gelu_tanh", "silu", "sigmoid", "identity"]
"""A function of each number by itself.

"relu": max(x, 0). "leaky_relu": max(x, x / 100), as in Raffel and Ellis 2015. "gelu": x Phi(x),
exact, as in BERT; "gelu_tanh": its approximation by tanh, as in GPT (both Hendrycks and Gimpel
2016, section 2). "silu", also called swish: x sigmoid(x).
"""

ACTIVATIONS = {
    "relu": nn.relu,
    "leaky_relu": nn.leaky_relu,
    "gelu": partial(nn.gelu, approximate=False),
    "gelu_tanh": partial(nn.gelu, approximate=True),
    "silu": nn.silu,
    "sigmoid": nn.sigmoid,
    "identity": lambda x: x,
}


class FeedForwardBase(nn.Module, ABC):
    """A network for each position alone. A part: subclasses are chosen on the command line."""

    @abstractmethod
    def __call__(self, x: Float[Array, "*B D"], *, deterministic: bool) -> Float[Array, "*B D"]:
        """Return the network's output at each position; no position sees another."""


class FeedForward(FeedForwardBase):
    """FFN(x) = f(x W_1 + b_1) W_2 + b_2 at every position. Vaswani et al. 2017, eq. 2.

    The `width` is F. The paper has the f "relu", and no dropout on the hidden layer.
    """

    width: PositiveInt = 2048
    activation: Activation = "relu"
    dropout: DropoutRate = 0.0

    @nn.compact
    def __call__(self, x: Float[Array, "*B D"], *, deterministic: bool) -> Float[Array, "*B D"]:
        hidden = ACTIVATIONS[self.activation](self.linear(self.width, "hidden")(x))
        hidden = Dropout(self.dropout, name="drop")(hidden, deterministic=deterministic)
        return self.linear(x.shape[-1], "out")(hidden)

    @nn.nowrap
    def linear(self, width: int, name: str) -> Callable[[Array], Array]:
        """Return one of the two linear maps, by its name."""
        return Dense((width,), name=name)


class ConvolutionFeedForward(FeedForward):
    """The same network as two convolutions over time with kernels of width 1.

    Wider kernels would mix padding into the encoder's words, and show the decoder later ones.

    Source: Vaswani et al. 2017, section 3.3: "two convolutions with kernel size 1".
    """

    @nn.nowrap
    def linear(self, width: int, name: str) -> Callable[[Array], Array]:
        glorot = nn.initializers.glorot_uniform()
        return nn.Conv(width, kernel_size=(1,), kernel_init=glorot, name=name)


class NoFeedForward(FeedForwardBase):
    """FFN(x) = 0: a layer of attention alone, as in Elhage et al. 2021 and Arora et al. 2023.

    Its residual connection adds nothing; one that normalizes what it adds still does.
    """

    def __call__(self, x: Float[Array, "*B D"], *, deterministic: bool) -> Float[Array, "*B D"]:
        return jnp.zeros_like(x)


class GatedFeedForward(FeedForwardBase):
    """FFN(x) = (f(x W) * x V) W_2 at every position, * element by element; no biases.

    f is the gate: "sigmoid" gives GLU, "identity" Bilinear, "relu" ReGLU, "gelu" GEGLU, "silu"
    SwiGLU. A `width` F two thirds as large has the parameters of a `FeedForward`. Dropout is
    applied to the hidden layer; the paper has none.

    Source: Shazeer 2020, eq. 6; GLU itself: Dauphin et al. 2017.
    """

    width: PositiveInt = 1365
    activation: Activation = "silu"
    dropout: DropoutRate = 0.0

    @nn.compact
    def __call__(self, x: Float[Array, "*B D"], *, deterministic: bool) -> Float[Array, "*B D"]:
        gate = ACTIVATIONS[self.activation](Dense((self.width,), bias=False, name="gate")(x))
        hidden = gate * Dense((self.width,), bias=False, name="hidden")(x)
        hidden = Dropout(self.dropout, name="drop")(hidden, deterministic=deterministic)
        return Dense((x.shape[-1],), bias=False, name="out")(hidden)
