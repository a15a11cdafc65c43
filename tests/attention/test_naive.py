"""The recurrences as their papers print them: the oracle, and what the layers compute."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import numpy as np
import pytest

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import Causal
from attnjax.attention.state import naive
from attnjax.attention.state.decay import (
    FeatureDecay,
    HeadDecay,
    NoDecay,
    SigmoidDecay,
    WordDecay,
)
from attnjax.attention.state.linear import LinearAttention
from attnjax.attention.state.recurrent import DecayedState, DeltaRule, FastWeights
from tests.attention import oracle

T, K, V = 7, 4, 3
RANDOM = np.random.default_rng(0)
QUERY, KEY, VALUE = (RANDOM.normal(size=(T, width)) for width in (K, K, V))
WORD, FEATURE = RANDOM.uniform(0.2, 1, (T, 1)), RANDOM.uniform(0.2, 1, (T, K))
STRENGTH, ONE = RANDOM.uniform(0, 2, T), np.ones(T)


def rows(layer: AttentionBase, decay: np.ndarray, strength: np.ndarray) -> tuple[Any, ...]:
    """Queries, keys and values as they reach a layer's state, and what decays and writes."""
    query, key = QUERY, KEY
    if isinstance(layer, DeltaRule):
        query, key = (x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6) for x in (query, key))
    return query / K**0.5, key, VALUE, decay, strength


LAYERS: dict[str, tuple[AttentionBase, Callable[..., np.ndarray]]] = {
    "linear attention": (
        LinearAttention(),
        lambda *_: naive.linear_attention(QUERY, KEY, VALUE),
    ),
    "no decay": (DecayedState(decay=NoDecay()), naive.state_space),
    "retention": (DecayedState(decay=HeadDecay()), lambda *given: naive.retention(*given[:4])),
    "gated linear attention": (
        DecayedState(decay=SigmoidDecay(rank=2)),
        lambda *given: naive.gated_linear_attention(*given[:4]),
    ),
    "Mamba-2": (DecayedState(decay=WordDecay(discretized=True)), naive.state_space),
    "fast weights": (
        FastWeights(),
        lambda *given: naive.fast_weights(QUERY, KEY, VALUE, given[4]),
    ),
    "delta rule": (
        DeltaRule(),
        lambda q, k, v, _, b: naive.delta_rule(q, k, v, b),
    ),
    "gated delta rule": (
        DeltaRule(decay=WordDecay(), largest_strength=2.0),
        naive.gated_delta_rule,
    ),
    "Kimi delta attention": (DeltaRule(decay=FeatureDecay()), naive.kimi_delta_attention),
}
"""A layer, and its equation of what reaches the state: see `rows`."""


@cache
def computed() -> dict[str, tuple[Any, Any]]:
    """The memory of keys and the contexts of all layers, by one program."""

    def of(layer: AttentionBase) -> tuple[Any, Any]:
        given = QUERY[None], KEY[None], VALUE[None]
        variables = layer.init(jax.random.key(1), *given, deterministic=True)
        call: Any = partial(layer.apply, variables)
        context = call(*given, mask=Causal(), deterministic=True)
        return call(*given[1:], method="prepare"), context

    return jax.device_get(
        jax.jit(lambda: {name: of(layer) for name, (layer, _) in LAYERS.items()})()
    )


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_equals_its_papers_equation(name, float64):
    layer, equation = LAYERS[name]
    memory, context = computed()[name]
    decay, strength = (
        (WORD, ONE)
        if isinstance(layer, LinearAttention)
        else (np.exp(memory.log_decay[0]), memory.strength[0, :, 0])
    )
    expected = equation(*rows(layer, decay, strength))
    np.testing.assert_allclose(context[0], expected, rtol=0, atol=1e-12)


GIVEN = QUERY, KEY, VALUE
NONE = np.ones((T, 1))
RECURRENCES = {
    "retention": (naive.retention(*GIVEN, 0.9 * NONE), 0.9 * NONE, ONE, False),
    "gated linear attention": (naive.gated_linear_attention(*GIVEN, FEATURE), FEATURE, ONE, False),
    "Mamba-2": (naive.state_space(*GIVEN, WORD, STRENGTH), WORD, STRENGTH, False),
    "diagonal": (naive.state_space(*GIVEN, FEATURE, STRENGTH), FEATURE, STRENGTH, False),
    "fast weights": (naive.fast_weights(*GIVEN, STRENGTH), NONE, STRENGTH, True),
    "delta rule": (naive.delta_rule(*GIVEN, STRENGTH), NONE, STRENGTH, True),
    "gated delta rule": (naive.gated_delta_rule(*GIVEN, WORD, STRENGTH), WORD, STRENGTH, True),
    "Kimi": (naive.kimi_delta_attention(*GIVEN, FEATURE, STRENGTH), FEATURE, STRENGTH, True),
    "Kimi, a word": (naive.kimi_delta_attention(*GIVEN, WORD, STRENGTH), WORD, STRENGTH, True),
}
"""Contexts, and the decay, the strength and the rule with which the oracle has them."""


@pytest.mark.parametrize("name", RECURRENCES)
def test_a_recurrence_equals_the_oracle(name):
    found, decay, strength, by_delta = RECURRENCES[name]
    query, key = QUERY, KEY
    if name == "fast weights":
        phi = (np.where(x > 0, x + 1, np.exp(x)) for x in (query, key))
        query, key = (x / x.sum(-1, keepdims=True) for x in phi)
    given = query, key, VALUE, np.log(decay), strength
    expected = oracle.recurrence(*given, delta_rule=by_delta)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_numbers_of_single_precision_are_computed_in_double():
    narrow = [x.astype(np.float32) for x in (QUERY, KEY, VALUE, FEATURE, STRENGTH)]
    found = naive.kimi_delta_attention(*narrow)
    assert found.dtype == np.float64
    wide = [x.astype(np.float64) for x in narrow]
    np.testing.assert_array_equal(found, naive.kimi_delta_attention(*wide))
