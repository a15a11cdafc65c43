"""Attention as a recurrence: the oracle, chunks, gates at their ends, who sees what."""

from functools import partial
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Padding, Segments, Window
from attnjax.attention.position import Positions
from attnjax.attention.state import chunked
from attnjax.attention.state.chunked import Words, causal_contexts, final_state, hide_words
from attnjax.attention.state.decay import (
    Decay,
    FeatureDecay,
    HeadDecay,
    NoDecay,
    SigmoidDecay,
    WordDecay,
)
from attnjax.attention.state.recurrent import DecayedState, DeltaRule, RecurrentAttention
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

B, T, K, V = 2, 11, 4, 3
"""11 words are three chunks of 4, the last of which is not full."""

rules = pytest.mark.parametrize("delta_rule", [False, True], ids=["added up", "delta rule"])
widths = pytest.mark.parametrize("width", [1, K], ids=["a decay a word", "a decay a feature"])


def make_chunks_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(chunked, "CHUNK", 4)
    patch.setattr(chunked, "BLOCK", 2)


def drawn(width: int, dtype: Any = np.float64) -> tuple[Any, Words, Any]:
    """Queries, words with keys of norm 1 and strengths up to 2, and a direction to read."""
    random = np.random.default_rng(0)
    key = random.normal(size=(B, T, K))
    key /= np.linalg.norm(key, axis=-1, keepdims=True)
    log_decay = -random.exponential(size=(B, T, width))
    log_decay[0, 2] = 0  # nothing is forgotten
    strength = random.uniform(0, 2, size=(B, T, 1))
    strength[0, 3], strength[1, 4] = 0, 2
    words = Words(key, random.normal(size=(B, T, V)), log_decay, strength)
    query, direction = random.normal(size=(B, T, K)), random.normal(size=(B, T, V))
    return jax.tree.map(lambda x: x.astype(dtype), (query, words, direction))


@partial(jax.jit, static_argnums=3)
def in_small_chunks(query: Any, words: Words, direction: Any, delta_rule: bool) -> tuple[Any, Any]:
    """Contexts, and the gradients of their products with a direction, by chunks of 4 words."""

    def read(query, words):
        context = causal_contexts(query, words, delta_rule=delta_rule)
        return (context * direction).sum(), context

    with pytest.MonkeyPatch.context() as patch:
        make_chunks_small(patch)
        slopes, context = jax.grad(read, (0, 1), has_aux=True)(query, words)
    return context, slopes


def by_oracle(query: Any, words: Words, delta_rule: bool) -> np.ndarray:
    alone = partial(oracle.recurrence, delta_rule=delta_rule)
    return np.array([alone(*one) for one in zip(query, *words, strict=True)])


@rules
@widths
def test_chunks_equal_the_oracle_with_gradients(width, delta_rule, float64):
    query, words, direction = drawn(width)

    def total(given):
        return (by_oracle(*given, delta_rule) * direction).sum()

    context, slopes = in_small_chunks(query, words, direction, delta_rule)
    np.testing.assert_allclose(context, by_oracle(query, words, delta_rule), rtol=0, atol=1e-12)
    expected = oracle.gradient(total, (query, words))
    chex.assert_trees_all_close(slopes, expected, rtol=0, atol=1e-10)


@rules
@widths
def test_one_program_of_chunks_is_as_near_as_its_dtype(width, delta_rule):
    query, words, _ = drawn(width)
    expected = by_oracle(query, words, delta_rule)
    query, words = jax.tree.map(lambda x: x.astype(np.float32), (query, words))
    context = jax.jit(partial(causal_contexts, delta_rule=delta_rule))(query, words)
    np.testing.assert_allclose(context, expected, rtol=0, atol=5e-6)


@rules
@widths
def test_a_gate_that_is_shut_forgets_all_before(width, delta_rule, float64):
    query, words, direction = drawn(width)
    words.log_decay[:, 6], direction[:, :6] = -np.inf, 0
    context, (_, slopes) = jax.device_get(in_small_chunks(query, words, direction, delta_rule))
    chex.assert_tree_all_finite(slopes)
    later = jax.tree.map(lambda x: x[:, 6:], words)
    alone = by_oracle(query[:, 6:], later, delta_rule)
    np.testing.assert_allclose(context[:, 6:], alone, rtol=0, atol=1e-12)
    for slope in slopes:
        np.testing.assert_allclose(slope[:, :6], np.zeros(slope[:, :6].shape), atol=1e-14)


write_word = jax.jit(chunked.write_word, static_argnames="delta_rule")
state_after = jax.jit(final_state, static_argnames="delta_rule")


@partial(jax.jit, static_argnames="delta_rule")
def state_of_seen(words: Words, present: Any, delta_rule: bool) -> Any:
    """The state after words, some of which are hidden."""
    return final_state(hide_words(words, present), delta_rule=delta_rule)


def state_and_word(place: int, strength: float) -> tuple[np.ndarray, Words]:
    """A state, and a word of some strength that forgets nothing."""
    word = jax.tree.map(lambda x: x[:, place : place + 1], drawn(1)[1])
    word.strength[:], word.log_decay[:] = strength, 0
    return np.random.default_rng(1).normal(size=(B, K, V)), word


@rules
@widths
def test_hidden_words_neither_write_nor_forget(width, delta_rule, float64):
    """The state is that after the other words alone, wherever the hidden ones stand."""
    _, words, _ = drawn(width)
    present = np.ones((B, T), bool)
    present[0, [0, 4, 5]] = present[1, [2, T - 1]] = False
    state = state_of_seen(words, present, delta_rule=delta_rule)
    for row in range(B):
        alone = Words(*(numbers[row][present[row]] for numbers in words))
        others = state_after(alone, delta_rule=delta_rule)
        np.testing.assert_allclose(state[row], others, rtol=0, atol=1e-12)


@rules
def test_a_word_of_strength_zero_leaves_the_state(delta_rule, float64):
    state, word = state_and_word(0, strength=0)
    np.testing.assert_array_equal(write_word(state, word, delta_rule=delta_rule), state)


def test_a_delta_rule_of_strength_one_replaces_the_value_at_its_key(float64):
    state, word = state_and_word(1, strength=1)
    after = np.asarray(write_word(state, word, delta_rule=True))
    np.testing.assert_allclose(word.key @ after, word.value, atol=1e-12)


def test_a_triangular_system_is_solved_with_every_derivative(float64):
    """32 numbers are four blocks, joined twice; two sides at once, as chunks ask for."""
    draw = np.random.default_rng(0).normal
    system = np.tril(0.5 * draw(size=(B, 32, 32)), -1)
    sides, direction = (tuple(draw(size=(B, 32, n)) for n in (2, 3)) for _ in range(2))

    def by_library(system, sides):
        return tuple(jnp.linalg.solve(jnp.eye(32)[None] + system, side) for side in sides)

    def derivatives(solve):
        def total(system, sides):
            solved = solve(system, sides)
            return sum((x * d).sum() for x, d in zip(solved, direction, strict=True))

        slopes = jax.grad(total, (0, 1))
        return slopes(system, sides), jax.jvp(
            slopes, (system, sides), (np.tril(np.cos(system), -1), sides)
        )[1]

    found, expected = jax.jit(
        lambda: (derivatives(chunked.solve_unit_lower), derivatives(by_library))
    )()
    lower = np.tri(32, k=-1, dtype=bool)
    found, expected = (
        jax.tree.map(lambda x: np.where(lower, x, 0) if x.shape[-1] == 32 else x, tree)
        for tree in (found, expected)
    )
    largest = max(np.abs(x).max() for x in jax.tree.leaves(expected))
    chex.assert_trees_all_close(found, expected, rtol=1e-9, atol=1e-11 * largest)


def softplus(x):
    return np.log1p(np.exp(x))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def decays_by_numpy(decay: Decay, own: Any, x: np.ndarray, head: int) -> tuple[Any, Any]:
    """log a_t and the strength of what is written, of one head and sentence."""
    one = np.ones((len(x), 1))
    if isinstance(decay, NoDecay):
        return 0 * one, one
    if isinstance(decay, HeadDecay):
        return np.log(1 - 2.0 ** (-5 - head)) * one, one
    if isinstance(decay, SigmoidDecay):
        low = x @ own["low"]["kernel"]
        gate = low @ own["gate"]["kernel"] + own["gate"]["bias"]
        return np.log(sigmoid(gate)) / decay.temperature, one
    step = softplus(x @ own["step"]["kernel"] + own["bias"])
    scaled = isinstance(decay, WordDecay) and decay.discretized
    return -np.exp(own["log_rate"]) * step, step if scaled else one


MODULES: tuple[RecurrentAttention, ...] = (
    DecayedState(decay=NoDecay()),
    DecayedState(decay=HeadDecay()),
    DecayedState(decay=WordDecay(discretized=True)),
    DecayedState(decay=SigmoidDecay(rank=2)),
    DeltaRule(),
    DeltaRule(decay=WordDecay(), largest_strength=2.0),
    DeltaRule(decay=FeatureDecay()),
)


def named(module: RecurrentAttention) -> str:
    return f"{type(module).__name__}-{type(module.decay).__name__}"


each_module = pytest.mark.parametrize("head", MODULES, ids=named)


def around(head: RecurrentAttention) -> tuple[MultiHead, Any, np.ndarray]:
    """Two heads around it, their variables, and the input of a layer."""
    module = MultiHead(head=head, heads=2)
    x = np.random.default_rng(0).normal(size=(B, T, 6))
    return module, jitted.init(module, jax.random.key(0), x, deterministic=True), x


@each_module
def test_heads_equal_the_equations_of_their_papers(head, float64):
    module, variables, x = around(head)
    context = jitted.apply(module, variables, x, mask=Causal(), deterministic=True)
    own = variables["params"]
    merged = 0
    for number in range(2):
        query, key, value = (
            x @ own[name]["kernel"][:, number] + own[name].get("bias", np.zeros(2))[number]
            if "bias" in own[name]
            else x @ own[name]["kernel"][:, number]
            for name in ("query", "key", "value")
        )
        of_head = jax.tree.map(lambda leaf, number=number: leaf[number], own.get("head", {}))
        contexts = []
        for sentence, q, k, v in zip(x, query, key, value, strict=True):
            log_decay, strength = decays_by_numpy(
                head.decay, of_head.get("decay", {}), sentence, number
            )
            if head.delta_rule:
                q, k = (y / np.sqrt((y**2).sum(-1, keepdims=True) + 1e-6) for y in (q, k))
                gate = sentence @ of_head["strength"]["kernel"]
                strength = strength * head.largest_strength * sigmoid(gate)
            q = q / np.sqrt(q.shape[-1])
            contexts.append(
                oracle.recurrence(q, k, v, log_decay, strength, delta_rule=head.delta_rule)
            )
        merged = merged + np.array(contexts) @ own["out"]["kernel"][number]
    np.testing.assert_allclose(context, merged, rtol=0, atol=1e-11)


@each_module
def test_steps_equal_all_words_at_once(head, float64):
    module, variables, x = around(head)
    together = jitted.apply(module, variables, x, mask=Causal(), deterministic=True)
    call = partial(module.apply, variables)

    @jax.jit
    def steps(x):
        def step(state, word):
            memory = call(word, word, method="prepare")
            context, state = call(word, memory, state, method="step")
            return state, context

        first = x[:, :1]
        start = call(call(first, first, method="prepare"), method="start")
        return jax.lax.scan(step, start, jnp.moveaxis(x, 1, 0)[:, :, None])[1]

    contexts = np.moveaxis(np.asarray(steps(x))[:, :, 0], 0, 1)
    np.testing.assert_allclose(contexts, together, rtol=0, atol=1e-12)


@pytest.mark.parametrize("head", MODULES[2:6:3], ids=named)
def test_padding_and_packed_rows_equal_each_sentence_alone(head, float64, monkeypatch):
    make_chunks_small(monkeypatch)
    module, variables, x = around(head)
    apply = jax.jit(partial(module.apply, variables, deterministic=True))

    def read(*inputs, **options):
        return np.asarray(apply(*inputs, **options))

    first = read(x[:, :5], mask=Causal())
    place = np.broadcast_to(np.arange(T), (B, T))
    present = place < 5
    wild = np.where(present[..., None], x, np.nan)
    padded = read(wild, mask=Padding(present) & Causal())
    np.testing.assert_allclose(padded[:, :5], first, rtol=0, atol=1e-12)
    # three sentences, two of which begin within one chunk
    segment = np.array([[0] * 5 + [1] * 2 + [2] * 4] * B)
    at = np.array([[*range(5), *range(2), *range(4)]] * B)
    packed = read(x, mask=Segments(segment, segment) & Causal(), positions=Positions(at, at))
    np.testing.assert_allclose(packed[:, :5], first, rtol=0, atol=1e-12)
    # two masks of segments that have one boundary each
    pair = [(place >= start).astype(int) for start in (5, 7)]
    joined = Segments(pair[0], pair[0]) & Segments(pair[1], pair[1]) & Causal()
    np.testing.assert_array_equal(read(x, mask=joined, positions=Positions(at, at)), packed)
    for start, end in ((5, 7), (7, 11)):
        alone = read(x[:, start:end], mask=Causal())
        np.testing.assert_allclose(packed[:, start:end], alone, rtol=0, atol=1e-12)


def test_a_decay_of_one_is_no_decay(float64):
    query, words, direction = drawn(1)
    none = words._replace(log_decay=np.zeros((B, T, 1)))
    wide = words._replace(log_decay=np.zeros((B, T, K)))
    for delta_rule in (False, True):
        (one, _), (each, _) = (
            in_small_chunks(query, given, direction, delta_rule) for given in (none, wide)
        )
        np.testing.assert_allclose(each, one, rtol=0, atol=1e-12)


def refused(module: Any, **options: Any) -> None:
    """Trace a call that raises."""
    init = partial(module.init_with_output, deterministic=True, **options)
    jax.eval_shape(init, jax.random.key(0), np.zeros((1, 4, 4)))


def test_masks_that_need_weights_are_refused():
    with pytest.raises(UserError, match="takes the masks Padding, Causal and Segments.*Window"):
        refused(DeltaRule(), mask=Window(1, 0))
    segment = np.zeros((1, 4), int)
    with pytest.raises(UserError, match="wants the mask Causal beside Segments"):
        refused(DeltaRule(), mask=Segments(segment, segment))


def test_heads_that_read_the_input_share_no_keys():
    with pytest.raises(UserError, match="leave key_heads out"):
        refused(MultiHead(head=DeltaRule(), heads=2, key_heads=1))
