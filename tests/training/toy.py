"""A model and batches as small as they come, for what is not about the model."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import END, PAD
from attnjax.nn.dropout import Dropout

WORDS = 11


class Toy(nn.Module):
    """Predicts from the sum of the source's embeddings and the word before."""

    @nn.compact
    def features(self, source: jax.Array, given: jax.Array, *, deterministic: bool):
        table = self.param("table", nn.initializers.normal(0.3), (WORDS, 4))
        bag = (table[source] * (source != PAD)[..., None]).sum(1, keepdims=True)
        hidden = Dropout(0.3)(table[given] + bag, deterministic=deterministic)
        return nn.Dense(4)(jnp.tanh(hidden)), table

    def __call__(self, source: jax.Array, given: jax.Array, *, deterministic: bool):
        hidden, table = self.features(source, given, deterministic=deterministic)
        return hidden @ table.T


class Pair(NamedTuple):
    source: list[int]
    target: list[int]
    alignment: tuple[frozenset[int], ...] = ()


def pairs(count: int, seed: int = 0, longest: int = 6) -> list[Pair]:
    """Return sentences of mixed lengths, to be copied."""
    random = np.random.default_rng(seed)
    sentences = (random.integers(4, WORDS, random.integers(1, longest)) for _ in range(count))
    return [Pair([*s.tolist(), END], [*s.tolist(), END]) for s in sentences]


def ragged(count: int, seed: int, rows: int = 8) -> list[Batch]:
    """Return batches of unequal lengths whose last row is filler."""
    batches = []
    for index in range(count):
        sides = np.full((rows, 6), PAD, np.int32)
        for row, pair in enumerate(pairs(rows - 1, seed=1000 * seed + index)):
            sides[row, : len(pair.target)] = pair.target
        batches.append(Batch(sides, sides))
    return batches
