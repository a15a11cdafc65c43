"""A short sequence, and heads over it, each call one program."""

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.position import Positions
from tests import jitted

B, T, D, H = 2, 6, 8, 2
AT = Positions(jnp.arange(T)[None], jnp.arange(T)[None])
CAUSAL = np.tri(T, dtype=bool)


def drawn(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=shape or (B, T, D)))


def initial(module, *inputs):
    return jitted.init(module, jax.random.key(0), *inputs, deterministic=True)


def called(module, variables, *inputs, **options):
    return jitted.apply(module, variables, *inputs, deterministic=True, **options)
