"""A number for a whole sequence of vectors: one attention joins steps that are read alone."""

from dataclasses import field
from typing import Any

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Padding
from attnjax.attention.score.base import Salience
from attnjax.config.constraints import PositiveInt
from attnjax.models.base import Model
from attnjax.models.feed_forward import ACTIVATIONS, Activation
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs
from attnjax.nn.linear import Dense

GAUSSIAN = nn.initializers.variance_scaling(1.0, "fan_in", "normal")
"""N(0, 1 / fan-in), of all matrices."""


class SequenceRegressor(Model):
    """y = f(w . s + b), where s = f(W c + b) and c = attention(0, h, h) reads a whole sequence.

        h_t = f(W x_t + b)

    x_t are the numbers of a step; one with a NaN is padding. No step sees another, and the steps
    have no order. The query is a vector of zeros: with `Salience` a weight depends on its step
    alone; with the align `Uniform` c is the mean of the states.

    Attributes:
        width: D, of h, c and s.
        activation: f.

    Source: Raffel & Ellis 2015, eq. 1 and 2, section 2.1.
    """

    text = ()

    width: PositiveInt = 100
    activation: Activation = "leaky_relu"
    attention: AttentionBase = field(default_factory=lambda: Attention(score=Salience()))

    @nn.compact
    def __call__(
        self,
        source: Float[Array, "B S E"],
        decoder_input: Float[Array, "B T _"],
        *,
        deterministic: bool,
    ) -> Float[Array, "B T"]:
        """Predict one number for a sequence, T = 1; the decoder's input is not read."""
        function = ACTIVATIONS[self.activation]

        def dense(width: int, name: str, x: Array) -> Array:
            return function(Dense((width,), initializer=GAUSSIAN, name=name)(x))

        mask = Padding(~jnp.isnan(source).any(-1))
        states = dense(self.width, "states", jnp.nan_to_num(source))
        query = jnp.zeros((len(source), 1, self.width), states.dtype)
        context = self.attention(query, states, states, mask, deterministic=deterministic)
        return dense(1, "out", dense(self.width, "context", context))[..., 0]

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Array, decoder_input: Array) -> Attentions:
        present = ~jnp.isnan(source).any(-1)
        mask = pairs(jnp.ones(decoder_input.shape[:2], bool), present)
        return layer_attentions(tree, mask, "attention", words=(None, None), to_source=True)
