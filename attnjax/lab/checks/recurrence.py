"""The properties of a recurrent attention: its equations, by steps and by chunks."""

from copy import copy
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.mask import Causal
from attnjax.attention.state import naive
from attnjax.attention.state.chunked import CHUNK, Words
from attnjax.attention.state.recurrent import RecurrentAttention
from attnjax.lab.checks.finding import Problems, not_equal
from attnjax.lab.checks.noise import noisy

LENGTH = CHUNK + 6
"""A number of words that is more than a chunk, and not two."""


class PreparedRecurrence:
    """A recurrent attention, its variables, queries [B, LENGTH, K] and what its words write."""

    variables: Any
    memory: Words

    def __init__(
        self, part: RecurrentAttention, key: jax.Array, inputs: tuple[np.ndarray, ...]
    ) -> None:
        """Hold the programs of a part; `moved_by` has its parameters, and its memory of keys."""

        @jax.jit
        def prepared(deviation: Any, query: jax.Array, *words: jax.Array) -> tuple[Any, Words]:
            variables = noisy(part.init(key, query, *words, deterministic=True), deviation)
            memory: Any = part.apply(variables, *words, method="prepare")
            return variables, memory

        self.part, self.inputs, self.query = part, inputs, jnp.asarray(inputs[0])
        self.prepared: Any = prepared
        self._compiled_read: Any = jax.jit(self._read)
        self._compiled_context: Any = jax.jit(partial(part.apply, method="context_of"))
        self._compiled_write: Any = jax.jit(self._write)

    def moved_by(self, deviation: float) -> "PreparedRecurrence":
        """Initialize the part, with noise on its parameters, and prepare its memory."""
        moved = copy(self)
        moved.variables, moved.memory = jax.device_get(self.prepared(deviation, *self.inputs))
        return moved

    def read(self, memory: Words) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Return the contexts of a memory by chunks and by steps, and the scaled queries."""
        return self._compiled_read(self.variables, memory)

    def context_of(self, sums: np.ndarray) -> jax.Array:
        """Return the contexts of what queries read."""
        return self._compiled_context(self.variables, sums)

    def write(self, word: Words) -> tuple[jax.Array, jax.Array]:
        """Return a state of ones, and that after a word."""
        return self._compiled_write(self.variables, word)

    def _read(self, variables: Any, memory: Words) -> tuple[jax.Array, jax.Array, jax.Array]:
        call: Any = partial(self.part.apply, variables)

        def step(state: Any, word: Any) -> tuple[Any, jax.Array]:
            query, memory = jax.tree.map(lambda x: x[:, None], word)
            context, state = call(query, memory, state, method="step")
            return state, context[:, 0]

        chunks = call(self.query, memory, Causal(), deterministic=True, method="attend")
        start = call(memory, method="start")
        words = jax.tree.map(lambda x: jnp.moveaxis(x, 1, 0), (self.query, memory))
        _, steps = jax.lax.scan(step, start, words)
        return chunks, jnp.moveaxis(steps, 0, 1), call(self.query, method="scaled")

    def _write(self, variables: Any, word: Words) -> tuple[jax.Array, jax.Array]:
        call: Any = partial(self.part.apply, variables)
        before = jnp.ones_like(call(word, method="start"))
        return before, call(self.query[:, :1], word, before, method="step")[1]


def _by_equations(query: np.ndarray, memory: Words, *, delta_rule: bool) -> np.ndarray:
    """Return what queries read of each sentence's words, by the equations in float64."""
    recurrence = naive.kimi_delta_attention if delta_rule else naive.state_space
    read = []
    for sentence in zip(query, *map(np.asarray, memory), strict=True):
        q, key, value, log_decay, strength = sentence
        decay = np.exp(log_decay.astype(np.float64))
        read.append(recurrence(q, key, value, decay, strength[:, 0]))
    return np.stack(read)


def by_equations(of: PreparedRecurrence) -> Problems:
    """Compare chunks and steps with the recurrence of the part's words."""
    yield from _compare(of, of.memory)


def decay_of_one(of: PreparedRecurrence) -> Problems:
    """Compare words whose decay is 1 with a state that nothing is forgotten of."""
    kept = of.memory._replace(log_decay=np.zeros_like(of.memory.log_decay))
    yield from _compare(of, kept, " without a decay")


def _compare(of: PreparedRecurrence, memory: Words, without: str = "") -> Problems:
    """Compare the contexts of a memory by chunks and by steps with the equations in float64."""
    chunks, steps, query = jax.device_get(of.read(memory))
    sums = _by_equations(query, memory, delta_rule=of.part.delta_rule)
    equations = of.context_of(sums)
    for way, context in (("chunks", chunks), ("steps", steps)):
        what = f"the context of {type(of.part).__name__}{without} by {way}"
        yield not_equal(what, context, equations)


def strength_of_zero(of: PreparedRecurrence) -> Problems:
    """Compare a state with that after a word of strength 0 without a decay."""
    names = "strength", "log_decay"
    word = jax.tree.map(lambda x: x[:, :1], of.memory)
    word = word._replace(**{name: np.zeros_like(getattr(word, name)) for name in names})
    yield not_equal(f"the state of {type(of.part).__name__}", *of.write(word))
