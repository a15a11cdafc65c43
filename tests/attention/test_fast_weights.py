"""Fast weights against a loop over words in NumPy, and a memory that is written anew."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.mask import Causal
from attnjax.attention.state.feature_map import PositiveRandomFeatures
from attnjax.attention.state.recurrent import FastWeights
from tests import jitted

WORDS, WIDTH = 7, 3
DRAWN = np.random.default_rng(0).normal(size=(3, 2, WORDS, WIDTH))


def shares(x: np.ndarray) -> np.ndarray:
    """Elu + 1, divided by its sum: Schlag et al. 2021, section 4.2."""
    features = np.where(x > 0, x + 1, np.exp(x))
    return features / features.sum(-1, keepdims=True)


def by_loop(query, key, value, weight) -> np.ndarray:
    """Contexts of one sentence, word by word, section 4.2."""
    memory, contexts = np.zeros((WIDTH, WIDTH)), []
    for q, k, v, raw in zip(shares(query), shares(key), value, key, strict=True):
        beta = 1 / (1 + np.exp(-raw @ weight))
        memory = memory + beta * np.outer(k, v - memory.T @ k)
        contexts.append(memory.T @ q)
    return np.array(contexts)


def test_contexts_and_gradients_equal_the_papers_loop(float64):
    module = FastWeights()
    variables = jitted.init(module, jax.random.key(0), *DRAWN, deterministic=True)
    weight = variables["params"]["strength"]["kernel"][:, 0]
    read = jax.jit(partial(module.apply, variables, mask=Causal(), deterministic=True))
    found = read(*DRAWN)
    for number in range(2):
        expected = by_loop(*DRAWN[:, number], weight)
        np.testing.assert_allclose(found[number], expected, rtol=0, atol=1e-12)

    def total(*inputs):
        return (read(*inputs) @ np.arange(WIDTH)).sum()

    step, slopes = 1e-6, jax.jit(jax.grad(total, argnums=(0, 1, 2)))
    for number, slope in enumerate(slopes(*map(jnp.asarray, DRAWN))):
        moved = [DRAWN.copy(), DRAWN.copy()]
        for sign, drawn in zip((1, -1), moved, strict=True):
            drawn[number, 1, 4, 2] += sign * step
        totals = [
            sum((by_loop(*drawn[:, row], weight) * np.arange(WIDTH)).sum() for row in range(2))
            for drawn in moved
        ]
        difference = (totals[0] - totals[1]) / (2 * step)
        np.testing.assert_allclose(slope[1, 4, 2], difference, rtol=0, atol=1e-8)


def test_a_state_may_have_more_features_than_a_key(float64):
    """One step at a time, and all words at once."""
    module = FastWeights(feature_map=PositiveRandomFeatures(features=5))
    variables = jitted.init(module, jax.random.key(0), *DRAWN, deterministic=True)
    together = jitted.apply(module, variables, *DRAWN, mask=Causal(), deterministic=True)
    query, key, value = DRAWN
    state = None
    for place in range(WORDS):
        word = np.s_[:, place : place + 1]
        memory = jitted.apply(module, variables, key[word], value[word], method="prepare")
        assert memory.key.shape == (2, 1, 5)
        if state is None:
            state = jitted.apply(module, variables, memory, method="start")
        context, state = jitted.apply(module, variables, query[word], memory, state, method="step")
        np.testing.assert_allclose(context, together[word], rtol=0, atol=1e-12)
