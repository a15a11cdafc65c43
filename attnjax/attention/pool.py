"""Pool: the sum of the values, each multiplied by its weight."""

import jax
import jax.numpy as jnp


def pool(weights: jax.Array, value: jax.Array) -> jax.Array:
    """context[t] = sum over s of weights[t, s] value[s]: [..., T, S], [..., S, V] -> [..., T, V].

    The weights are cast to the value's dtype; the products are summed in float32 or wider.
    """
    wide = jnp.promote_types(value.dtype, jnp.float32)
    context = jnp.einsum(
        "...ts,...sv->...tv", weights.astype(value.dtype), value, preferred_element_type=wide
    )
    return context.astype(value.dtype)
