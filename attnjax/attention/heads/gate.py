"""Gates: what the context of each head is multiplied by, before the heads are merged."""

from abc import ABC, abstractmethod
from typing import Literal

import jax
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.traits import Expectations
from attnjax.nn.linear import Dense

HeadContexts = Float[Array, "*B T H V"]
"""The contexts of all heads."""


class Gate(Expectations, nn.Module, ABC):
    """A gate of the contexts of an attention's heads."""

    @abstractmethod
    def __call__(self, inputs: Float[Array, "*B T D"], contexts: HeadContexts) -> HeadContexts:
        """Return the contexts, multiplied by numbers computed from the layer's input."""


class OutputGate(Gate):
    """contexts[t] f(W x_t + b), with x_t the layer's input at the query's word.

    Attributes:
        each: a number for each "feature" of each head, or one for each "head".
        activation: f, "sigmoid", or "silu", z sigmoid(z), as in retention, gated linear attention
            and Mamba-2.

    Source: Qiu et al. 2025, section 3 (the gate after the weighted sum, G1); Sun et al. 2023, eq. 8
    (silu).
    """

    may_be_zero = True

    each: Literal["feature", "head"] = "feature"
    activation: Literal["sigmoid", "silu"] = "sigmoid"

    @nn.compact
    def __call__(self, inputs: Float[Array, "*B T D"], contexts: HeadContexts) -> HeadContexts:
        *_, heads, width = contexts.shape
        features = (heads, width if self.each == "feature" else 1)
        logits = Dense(features, name="gate")(inputs)
        return contexts * (jax.nn.silu if self.activation == "silu" else jax.nn.sigmoid)(logits)
