"""Self-attention a word at a time: attentions with a state of constant size, and with a cache."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention import (
    Attention,
    AttentionBase,
    LinearAttention,
    MultiHead,
    Positions,
    PositiveRandomFeatures,
    SignedLinearAttention,
    Window,
)
from attnjax.attention.mask import MaskLike, as_mask
from attnjax.data.special_tokens import PAD
from attnjax.decoding import Beam, Greedy, NoPenalty
from attnjax.decoding.generate import FIRST, generate
from attnjax.errors import UserError
from attnjax.models import DecoderLayer, EncoderLayer, FeedForward, Transformer
from tests import jitted
from tests.models.small import GIVEN, HEADS, SOURCE, initial
from tests.models.stepwise import stepped_and_parallel


class Mean(AttentionBase):
    """The mean of the allowed values; in steps, from the sum and the number of those so far."""

    def prepare(self, key: jax.Array, value: jax.Array) -> jax.Array:
        del key
        return value

    def start(self, memory: jax.Array) -> Any:
        return jnp.zeros_like(memory[..., :1, :]), jnp.zeros_like(memory[..., :1, :1])

    def step(self, query: jax.Array, memory: jax.Array, state: Any) -> tuple[jax.Array, Any]:
        del query
        total, count = state[0] + memory, state[1] + 1
        return total / count, (total, count)

    def attend(
        self,
        query: jax.Array,
        memory: jax.Array,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool,
    ) -> jax.Array:
        del deterministic
        allowed, mask = jnp.ones((*query.shape[:-1], memory.shape[-2]), bool), as_mask(mask, query)
        if mask is not None:
            allowed &= mask.dense(positions.filled(query, memory))
        return allowed.astype(memory.dtype) @ memory / allowed.sum(-1, keepdims=True)


def transformer(
    self_attention: AttentionBase, other: AttentionBase | None = None, layers: int = 2
) -> Transformer:
    """A Transformer with a decoder of this self-attention; `other` is in its other places."""
    other, feed_forward = other or MultiHead(heads=HEADS), FeedForward(width=5)
    return Transformer(
        vocabulary=12,
        width=8,
        num_encoder_layers=1,
        num_decoder_layers=layers,
        encoder_layer=EncoderLayer(self_attention=other, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=self_attention, cross_attention=other, feed_forward=feed_forward
        ),
        dropout=0.0,
    )


LINEAR = MultiHead(head=LinearAttention(), heads=HEADS)
RANDOM = MultiHead(
    head=LinearAttention(feature_map=PositiveRandomFeatures(features=3)), heads=HEADS
)
TAYLOR = MultiHead(head=SignedLinearAttention(), heads=HEADS)
WINDOWS = MultiHead(head=Attention(mask=Window(1, 1)), heads=HEADS)
MODELS = {
    "mean": transformer(Mean()),
    "heads of means": transformer(MultiHead(head=Mean(), heads=HEADS)),
    "linear": transformer(LINEAR, LINEAR),
    "random features": transformer(RANDOM, RANDOM, layers=1),
    "Taylor": transformer(TAYLOR, TAYLOR, layers=1),
    "linear without heads": transformer(LinearAttention(), layers=1),
    "windows": transformer(WINDOWS),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "linear" else pytest.mark.long) for name in MODELS],
)
def test_one_word_at_a_time_is_all_at_once(name, float64):
    model = MODELS[name]
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "name",
    ["mean", "linear", pytest.param("random features", marks=pytest.mark.long), "windows"],
)
def test_only_a_cache_grows_with_the_words(name):
    model = MODELS[name]

    @jax.jit
    def begin_and_grow(params: Any) -> Any:
        call: Any = functools.partial(model.apply, {"params": params})
        memory, mask = call(SOURCE, deterministic=True, method="encode")
        _, cache, state = call(memory, mask, length=3, beams=2, method="start")
        return state, *call(cache, state, length=7, method="grow_cache")

    state, grown, after = begin_and_grow(initial(model))
    assert after.back_pointers.shape == (len(SOURCE), 2, 7)
    shapes = [leaf.shape[-2] for leaf in jax.tree.leaves(grown)]
    if name == "windows":
        assert set(shapes) == {7 * 2}
        assert not jax.tree.leaves(after.recurrent)
    else:
        assert not shapes
        assert jax.tree.leaves(state.recurrent)
        jax.tree.map(np.testing.assert_array_equal, after.recurrent, state.recurrent)


@pytest.mark.long
def test_a_beam_of_one_over_linear_layers_is_greedy():
    model = MODELS["linear"]
    params = initial(model)
    greedy = generate(model, params, SOURCE, Greedy(), extra=15)
    search = Beam(size=1, length_penalty=NoPenalty())
    beam = generate(model, params, SOURCE, search, extra=15)
    assert (greedy.tokens != PAD).sum(-1).max() > FIRST, "room for more words was made"
    np.testing.assert_array_equal(beam.tokens, greedy.tokens)
    np.testing.assert_allclose(beam.scores, greedy.scores, rtol=1e-5)


def test_an_alignment_by_linear_attention_is_refused_in_a_sentence():
    model = MODELS["linear"]
    sentence = "attention to the source that shows its weights; this Transformer has none"
    with pytest.raises(UserError, match=sentence):
        jax.eval_shape(model.alignment, initial(model), SOURCE, GIVEN)


def test_a_window_hides_what_is_far_from_it():
    """Encoder and decoder of one layer: a word moves the states within its reach, and no others."""
    model = transformer(WINDOWS, WINDOWS, layers=1)
    params = initial(model)
    source, other = np.array([[4, 5, 6, 7, 8]]), np.array([[4, 5, 6, 7, 9]])

    states = [
        jitted.apply(model, {"params": params}, words, deterministic=True, method="encode")[0]
        for words in (source, other)
    ]
    moved = np.abs(states[0] - states[1]).max(-1)[0]
    assert (moved[:3] == 0).all()
    assert (moved[3:] > 1e-4).all()


def test_an_attention_without_a_state_refuses_a_step():
    with pytest.raises(ValueError, match="Attention has no state: call attend with all keys"):
        jitted.apply(Attention(), {}, np.ones((1, 1, 4)), None, None, method="step")
