"""Fast weights: the delta rule with positive features of queries and keys, which sum to 1."""

from dataclasses import field

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.feature_map import EluPlusOne, FeatureMap
from attnjax.attention.recurrence import Words
from attnjax.attention.recurrent import RecurrentAttention
from attnjax.attention.shapes import Keys, Queries, Values
from attnjax.nn.dtypes import widen
from attnjax.nn.linear import Dense


class FastWeights(RecurrentAttention):
    """S_t = S_{t-1} + b_t f(k_t) (v_t - S_{t-1}^T f(k_t))^T,   context[t] = S_t^T f(q_t).

        f(x) = phi(x) / sum of phi(x),   b_t = sigmoid(w . x_t)

    x_t is the layer's input, phi the `feature_map`. A word moves the value that the state [F, V]
    holds at its key towards its own. Features of a query and of a key sum to 1, without which, the
    authors write, their models diverged; contexts are divided by nothing.

    Source: Schlag et al. 2021, section 4.2: eq. 24 is the rule; the sum, too.
    """

    delta_rule = True

    feature_map: FeatureMap = field(default_factory=EluPlusOne)

    @nn.compact
    def prepare(self, key: Keys, value: Values, inputs: jax.Array | None = None) -> Words:
        inputs = key if inputs is None else inputs
        gate = widen(Dense((1,), bias=False, name="strength")(inputs))
        strength = jnp.broadcast_to(jax.nn.sigmoid(gate), (*key.shape[:-1], 1))
        features = self._shares(key).astype(key.dtype)
        return Words(features, value, jnp.zeros_like(strength), strength)

    def scaled(self, query: Queries) -> Float[Array, "*#B T F"]:
        return self._shares(query)

    def _shares(self, x: jax.Array) -> jax.Array:
        """Return phi(x) / sum of phi(x), [..., F]."""
        return jax.nn.softmax(self.feature_map(x))
