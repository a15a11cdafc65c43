"""Named axes: a function can ask whether it is mapped over one."""

import jax
import jax.numpy as jnp

from attnjax.nn.axes import DATA, HEADS, inside


def test_inside_is_known_while_tracing():
    def both(x):
        return x * 0 + inside(DATA) + 2 * inside(HEADS)

    assert both(jnp.ones(2)).tolist() == [0, 0]
    assert jax.vmap(both, axis_name=HEADS)(jnp.ones(2)).tolist() == [2, 2]
    nested = jax.vmap(jax.vmap(both, axis_name=DATA), axis_name=HEADS)
    assert jax.jit(nested)(jnp.ones((1, 1))).tolist() == [[3]]
