"""Selective attention: the oracle's sums over earlier rows, packed rows, what is refused."""

from functools import partial
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.heads.selective import SelectiveHeads
from attnjax.attention.mask import Causal, Padding, Segments
from attnjax.attention.position import Positions
from attnjax.attention.score.positional import Alibi
from attnjax.attention.state.recurrent import DeltaRule
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle

B, T, D, H = 2, 6, 4, 2
HEADS = SelectiveHeads(heads=H)
PRESENT = np.array([[True] * T, [True, True, True, True, False, False]])


def drawn() -> np.ndarray:
    return 2 * np.random.default_rng(2).normal(size=(B, T, D))


def hidden_so_far(logits, seen):
    """What earlier rows of head 0 hide: running sums, the first key and its own spared."""
    total, sums = np.zeros(len(logits), logits.dtype), []
    for t, row in enumerate(logits):
        sums.append(total)
        for s in range(1, t):
            if seen[t, s] and row[s].real > 0:
                total = total + row[s] * np.eye(len(logits))[s]
    return np.array(sums)


def expected(own, x):
    """The equations, sentence by sentence and head by head."""
    merged = []
    for sentence, present in zip(x, PRESENT, strict=True):
        seen, contexts, hidden = np.tri(T, dtype=bool) & present, 0, 0
        for h in range(H):
            q, k, v = (sentence @ own[name]["kernel"][:, h] for name in ("query", "key", "value"))
            logits = oracle.scaled_dot(q, k)
            hidden = hidden_so_far(logits, seen) if h == 0 else hidden
            weights = oracle.softmax(logits - hidden, seen)
            contexts = contexts + weights @ v @ own["out"]["kernel"][h]
        merged.append(contexts)
    return np.array(merged)


def test_heads_equal_the_equations_with_gradients(float64):
    x, direction = drawn(), np.random.default_rng(1).normal(size=(B, T, D)) * PRESENT[..., None]
    variables = jitted.init(HEADS, jax.random.key(0), x, deterministic=True)
    mask = Causal() & Padding(jnp.asarray(PRESENT))

    def read(variables, x):
        context: Any = HEADS.apply(variables, x, mask=mask, deterministic=True)
        return (context * direction).sum(), context

    (_, context), slopes = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))(
        variables, jnp.asarray(x)
    )
    own = jax.tree.map(np.asarray, variables["params"])
    found = np.where(PRESENT[..., None], context, 0)
    by_oracle = np.where(PRESENT[..., None], expected(own, x), 0)
    np.testing.assert_allclose(found, by_oracle, rtol=0, atol=1e-12)
    plain = jitted.apply(MultiHead(heads=H), variables, x, mask=mask, deterministic=True)
    assert abs(plain - context)[0, 2:].max() > 0.01, "something is hidden"
    by_oracle = oracle.gradient(lambda given: (expected(*given) * direction).sum(), (own, x))
    chex.assert_trees_all_close((slopes[0]["params"], slopes[1]), by_oracle, rtol=0, atol=1e-10)


def test_a_packed_sentence_is_hidden_by_its_own_words_alone(float64):
    x = drawn()
    variables = jitted.init(HEADS, jax.random.key(0), x, deterministic=True)
    read = partial(jitted.apply, HEADS, variables, deterministic=True)
    segment = np.broadcast_to([0, 0, 1, 1, 1, 1], (B, T))
    at = np.broadcast_to([0, 1, 0, 1, 2, 3], (B, T))
    packed = read(x, mask=Segments(segment, segment) & Causal(), positions=Positions(at, at))
    for start, end in ((0, 2), (2, 6)):
        alone = read(x[:, start:end], mask=Causal())
        np.testing.assert_allclose(packed[:, start:end], alone, rtol=0, atol=1e-12)


def test_the_first_word_that_is_seen_is_never_hidden(float64):
    """Behind hidden words it is the first of those that are left, and not the first of the row."""
    x = drawn()
    variables = jitted.init(HEADS, jax.random.key(0), x, deterministic=True)
    read = partial(jitted.apply, HEADS, variables, deterministic=True)
    present = np.broadcast_to(np.arange(T) >= 2, (B, T))
    behind = read(x, mask=Causal() & Padding(jnp.asarray(present)))
    np.testing.assert_allclose(behind[:, 2:], read(x[:, 2:], mask=Causal()), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "head, words",
    [
        (DeltaRule(), "got DeltaRule"),
        (Attention(score=Alibi()), "got Alibi around ScaledDot"),
        (Attention(implementation="blockwise"), "got blockwise"),
    ],
    ids=["recurrence", "positions of each head", "kernel"],
)
def test_heads_without_common_logits_are_refused(head, words):
    with pytest.raises(UserError, match=words):
        jax.eval_shape(
            partial(SelectiveHeads(head=head, heads=H).init, deterministic=True),
            jax.random.key(0),
            jnp.zeros((1, T, D)),
        )
