"""Linear attention with features of any sign: two sums of a recurrence that forgets nothing."""

from dataclasses import field

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.feature_map import SignedFeatureMap, TaylorFeatures
from attnjax.attention.recurrence import Words
from attnjax.attention.recurrent import RecurrentAttention
from attnjax.attention.shapes import Contexts, Keys, Queries, Values


class SignedLinearAttention(RecurrentAttention):
    """context[t] = phi(q_t) S_t / (phi(q_t) . z_t), with features phi of any sign.

    S_t and z_t add up phi(k_s) v_s^T and phi(k_s) of the keys that t may see: they are one state
    [F, V + 1], whose values have one more feature, 1. `LinearAttention` is for positive features,
    which it adds up by their logarithms.

    Source: Katharopoulos et al. 2020, eq. 4; Zhang et al. 2024 (Hedgehog), of Taylor features.
    """

    delta_rule = False
    may_be_zero = False

    feature_map: SignedFeatureMap = field(default_factory=TaylorFeatures)

    @nn.nowrap
    def reads_inputs(self) -> bool:
        return False

    def prepare(self, key: Keys, value: Values, inputs: jax.Array | None = None) -> Words:
        features = self.feature_map(key)
        one = jnp.ones_like(features[..., :1])
        ones = jnp.broadcast_to(one, (*value.shape[:-1], 1)).astype(value.dtype)
        return Words(features, jnp.concatenate([value, ones], -1), jnp.zeros_like(one), one)

    def scaled(self, query: Queries) -> Float[Array, "*#B T F"]:
        return self.feature_map(query)

    def context_of(self, read: jax.Array) -> Contexts:
        return divided(read, self.feature_map.least_product)


def divided(sums: jax.Array, least: float) -> jax.Array:
    """Divide by the last feature, the sum of a query's weights; 0 if the query sees no key.

    The other features may cancel and leave of it what rounding adds, so that it is kept at the
    `least` that a key's weight can be.
    """
    total = sums[..., -1:]
    return sums[..., :-1] / jnp.where(total == 0, 1, jnp.maximum(total, least))
