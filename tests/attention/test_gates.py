"""Numbers computed from a layer's input: gates of contexts, forgetting, norms of contexts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.fused import Inputs
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.heads.gate import Gate, OutputGate
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Padding, Segments
from attnjax.attention.position import Positions
from attnjax.attention.score.bias import Forgetting, forgetting
from attnjax.nn.norm import RMSNorm
from tests import jitted
from tests.attention import oracle

B, T, D, H = 2, 5, 6, 2


def drawn():
    return np.random.default_rng(0).normal(size=(B, T, D))


def initial(module, x):
    return jitted.init(module, jax.random.key(0), x, deterministic=True)


def applied(module, variables, x, mask=None):
    return jitted.apply(module, variables, x, mask=mask, deterministic=True)


def contexts_of(own, x, mask):
    """The contexts of plain heads [T, H, V] of a sentence, and its projected queries and keys."""
    contexts = []
    for head in range(H):
        q, k, v = (x @ own[name]["kernel"][:, head] for name in ("query", "key", "value"))
        contexts.append(oracle.softmax(oracle.scaled_dot(q, k), mask) @ v)
    return np.stack(contexts, axis=1)


@pytest.mark.parametrize("each", ["feature", "head"])
@pytest.mark.parametrize("activation", ["sigmoid", "silu"])
def test_a_gate_multiplies_normalized_contexts_by_the_equation(each, activation, float64):
    module = MultiHead(
        heads=H, bias=False, context_norm=RMSNorm(), gate=OutputGate(each, activation)
    )
    x = drawn()
    variables = initial(module, x)
    gains = np.random.default_rng(1).uniform(0.5, 2, D // H)
    variables["params"]["context_norm"]["scale"] = gains
    context, own = applied(module, variables, x, Causal()), variables["params"]
    gate = own["gate"]["gate"]
    for sentence, got in zip(x, context, strict=True):
        plain = contexts_of(own, sentence, np.tri(T, dtype=bool))
        plain = plain / np.sqrt((plain**2).mean(-1, keepdims=True) + 1e-6) * gains
        logits = np.einsum("td,dhv->thv", sentence, gate["kernel"]) + gate["bias"]
        f = 1 / (1 + np.exp(-logits))
        plain = plain * (logits * f if activation == "silu" else f)
        expected = np.einsum("thv,hvd->td", plain, own["out"]["kernel"])
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)


def test_a_gate_of_one_equals_no_gate(float64):
    x = drawn()
    gated = MultiHead(heads=H, gate=OutputGate())
    variables = initial(gated, x)
    own = variables["params"]["gate"]["gate"]
    own["kernel"], own["bias"] = np.zeros_like(own["kernel"]), np.full_like(own["bias"], 100.0)
    plain = {"params": {k: v for k, v in variables["params"].items() if k != "gate"}}
    with_gate = applied(gated, variables, x, Causal())
    without = applied(MultiHead(heads=H), plain, x, Causal())
    np.testing.assert_allclose(with_gate, without, rtol=0, atol=1e-14)


class TenthOfHead(Gate):
    """A gate of one's own: a number of the first head alone."""

    def __call__(self, inputs, contexts):
        return contexts.at[..., 0, :].multiply(0.1 * inputs.sum(-1, keepdims=True))


def test_a_gate_of_ones_own_reads_the_layers_input(float64):
    x = drawn()
    module, plain = MultiHead(heads=H, gate=TenthOfHead()), MultiHead(heads=H, heads_out=(1,))
    variables = initial(plain, x)
    by_gate, first = applied(module, variables, x), applied(plain, variables, x)
    scaled = applied(MultiHead(heads=H, heads_out=(0,)), variables, x)
    expected = 0.1 * x.sum(-1, keepdims=True) * first + scaled
    np.testing.assert_allclose(by_gate, expected, rtol=0, atol=1e-12)


def test_forgetting_equals_the_oracle_with_gradients(float64):
    x = drawn()
    module = MultiHead(head=Attention(bias=Forgetting()), heads=H)
    variables = initial(module, x)
    present = np.array([[True] * T, [True, False, True, True, False]])
    mask, direction = Causal() & Padding(present), np.random.default_rng(1).normal(size=(B, T, D))

    def read(gate):
        params = {**variables["params"], "head": {"bias": {"gate": gate}}}
        context = module.apply({"params": params}, x, mask=mask, deterministic=True)
        return (context * direction).sum(), context

    own = variables["params"]
    gate = own["head"]["bias"]["gate"]
    (_, context), slope = jax.jit(jax.value_and_grad(read, has_aux=True))(gate)

    def expected_of(gate):
        rows = []
        for sentence, real in zip(x, present, strict=True):
            keys, merged = np.where(real[:, None], sentence, 0), 0
            for head in range(H):
                q = sentence @ own["query"]["kernel"][:, head]
                k, v = (keys @ own[name]["kernel"][:, head] for name in ("key", "value"))
                z = keys @ gate["kernel"][head] + gate["bias"][head]
                log_gate = -np.log(1 + np.exp(-z[:, 0]))
                logits, seen = oracle.scaled_dot(q, k), np.tri(T, dtype=bool) & real
                weights = oracle.forgetting(logits, log_gate, seen)
                merged = merged + weights @ v @ own["out"]["kernel"][head]
            rows.append(merged)
        return np.array(rows)

    np.testing.assert_allclose(context, expected_of(gate), rtol=0, atol=1e-11)
    expected = oracle.gradient(lambda gate: (expected_of(gate) * direction).sum(), gate)
    for name, numbers in expected.items():
        np.testing.assert_allclose(slope[name], numbers, rtol=0, atol=1e-10)


@pytest.mark.parametrize("causal", [True, False])
def test_the_sides_of_a_forget_gate_are_its_pairs_and_hidden_gates_count_nowhere(causal, float64):
    """A number of each query and one of each key add up to the bias of the pairs that are seen."""
    log_gate = -np.random.default_rng(4).exponential(size=(B, T, 1))
    present = np.array([[False, True, True, True, True], [True, False, True, False, True]])
    mask = Causal() & Padding(present) if causal else Padding(present)
    sides = Forgetting().sides(jnp.asarray(log_gate), mask, Positions(), T)
    assert sides is not None
    seen = np.broadcast_to(present[:, None], (B, T, T)) & (np.tri(T, dtype=bool) | (not causal))
    pairs = np.asarray(forgetting(jnp.asarray(log_gate[..., 0]), jnp.asarray(seen), (B, T, T)))
    np.testing.assert_allclose(sides.pairs()[seen], pairs[seen], rtol=0, atol=1e-12)


def test_gates_of_one_forget_nothing_and_of_zero_all_but_the_last_key():
    allowed = np.tri(T, dtype=bool)
    bias_of = jax.jit(lambda log_gate: forgetting(log_gate, jnp.asarray(allowed), (T, T)))
    np.testing.assert_array_equal(bias_of(np.zeros(T)), np.zeros((T, T)))
    bias = np.where(allowed, bias_of(np.full(T, -np.inf)), 0)
    assert (np.diag(bias) == 0).all()
    assert np.isneginf(bias[np.tri(T, k=-1, dtype=bool)]).all()


def test_a_packed_sentence_forgets_its_own_words_alone(float64):
    x = drawn()
    module = MultiHead(head=Attention(bias=Forgetting()), heads=H)
    variables = initial(module, x)
    segment = np.array([[0, 0, 1, 1, 1]] * B)
    packed = applied(module, variables, x, Segments(segment, segment) & Causal())
    for start, end in ((0, 2), (2, 5)):
        alone = applied(module, variables, x[:, start:end], Causal())
        np.testing.assert_allclose(packed[:, start:end], alone, rtol=0, atol=1e-12)


def test_a_long_row_of_gates_that_shut_now_and_then_keeps_its_digits():
    """By tiles in float32: sums over all words are large, their differences small."""
    random, length, width = np.random.default_rng(6), 4096, 4
    query, key, value = random.normal(size=(3, 1, length, width)).astype(np.float32)
    is_shut = random.random(length) < 1 / 40
    log_gate = np.float32(np.where(is_shut, -200, -random.exponential(0.05, length)))
    rows = np.arange(0, length, 5)

    @jax.jit
    def read(query, key, value, log_gate):
        sides = Forgetting().sides(log_gate, Causal(), Positions(), length, 0.7)
        inputs = Inputs(query, key, value, Causal(), scale=0.5, sides=sides)
        return blockwise(inputs)

    context = read(query, key, value, log_gate[None, :, None])[0, rows]
    sums = np.cumsum(np.float64(log_gate))
    logits = np.float64(query[0, rows]) @ np.float64(key[0]).T / 2
    logits += 0.7 * np.subtract.outer(sums[rows], sums)
    seen = np.arange(length) <= rows[:, None]
    expected = oracle.softmax(logits, seen) @ np.float64(value[0])
    np.testing.assert_allclose(context, expected, rtol=0, atol=4e-6)
