"""Latent heads: the equations, the small cache, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.around import HardAlibi
from attnjax.attention.align.open import Sink
from attnjax.attention.attention import Attention
from attnjax.attention.heads.latent import LatentAttention
from attnjax.attention.mask import Causal
from attnjax.attention.position import Positions
from attnjax.attention.score.positional import Rotary, rotary
from attnjax.errors import UserError
from tests import jitted
from tests.attention import oracle
from tests.attention.short import AT, CAUSAL, B, D, H, T, called, drawn, initial

turned_by = jax.jit(rotary)


def latent_contexts(own, x, rank, of_key, turned, allowed):
    """The equations of a latent attention, head by head, of one sentence."""
    c = x @ own["latent"]["kernel"]
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * own["latent_norm"]["scale"]
    shared = x @ own["shared_key"]["kernel"]
    turn = np.asarray(turned_by(shared, AT.key[0]))
    merged = 0
    for head in range(H):
        q = x @ own["query"]["kernel"][:, head]
        turned_query = np.asarray(turned_by(q[:, of_key:], AT.query[0]))
        key, value = c @ own["key_map"][head], c @ own["value_map"][head]
        logits = (q[:, :of_key] @ key.T + turned_query @ turn.T) / np.sqrt(of_key + turned)
        merged = merged + oracle.softmax(logits, allowed) @ value @ own["out"]["kernel"][head]
    return merged


@pytest.mark.parametrize("rank", [2, 40], ids=["absorbed", "keys of each head"])
def test_latent_heads_equal_their_equations(rank, float64):
    x = drawn()
    module = LatentAttention(heads=H, latent_width=rank, rotary_width=2, key_width=3)
    variables = initial(module, x)
    own = jax.tree.map(np.asarray, variables["params"])
    context = called(module, variables, x, mask=Causal())
    for sentence, got in zip(np.asarray(x), context, strict=True):
        expected = latent_contexts(own, sentence, rank, 3, 2, CAUSAL)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)


def test_a_latent_search_keeps_few_numbers_and_equals_all_words_at_once(float64):
    x = drawn()
    module = LatentAttention(heads=H, latent_width=40, rotary_width=2)
    variables = initial(module, x)
    together = called(module, variables, x, mask=Causal())
    memory = jitted.apply(module, variables, x, x, method="prepare")
    assert [leaf.shape for leaf in jax.tree.leaves(memory)] == [(B, T, 40), (B, T, 2)]
    for place in range(T):
        at = Positions(query=np.full((B, 1), place))
        given = variables, x[:, place : place + 1], memory, Causal()
        options = {"positions": at, "deterministic": True, "method": "attend"}
        word = jitted.apply(module, *given, **options)
        np.testing.assert_allclose(word[:, 0], together[:, place], rtol=0, atol=1e-12)


def test_a_latent_head_of_another_score_is_refused():
    module = LatentAttention(head=Attention(score=Rotary()), heads=H)
    with pytest.raises(UserError, match=r"wants a head of the score ScaledDot.*got Rotary"):
        initial(module, jnp.zeros((1, T, D)))


def test_latent_heads_that_do_not_divide_the_width_are_refused():
    module = LatentAttention(heads=3, key_width=2)
    with pytest.raises(UserError, match=r"heads do not divide the width 8: .* value_width"):
        initial(module, jnp.zeros((1, T, D)))


def test_an_align_of_each_head_is_that_of_the_head():
    """Head 0 of hard ALiBi sees a word, head 1 the one before too; each head learns a sink."""
    x = np.random.default_rng(0).normal(size=(2, 5, 8)).astype(np.float32)
    latent = LatentAttention(Attention(align=HardAlibi()), heads=2, latent_width=3, rotary_width=2)
    sinks = LatentAttention(Attention(align=Sink()), heads=2, latent_width=3, rotary_width=2)

    @jax.jit
    def compute(x):
        key, given = jax.random.key(0), {"mask": Causal(), "deterministic": True}
        _, sown = latent.init_with_output(key, x, **given)
        sown = latent.apply(sown, x, **given, mutable=["attention"])[1]
        return sown["attention"]["head"]["weights"][0], sinks.init(key, x, **given)

    weights, learned = compute(x)
    assert weights.shape == (2, 2, 5, 5)
    for head in (0, 1):
        near = np.tri(5) - np.tri(5, k=-1 - head)
        np.testing.assert_array_equal(np.asarray(weights[:, head]) > 0, np.stack([near > 0] * 2))
    assert [leaf.shape for leaf in jax.tree.leaves(learned["params"]["head"])] == [(2,)]
