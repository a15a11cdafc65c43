"""Self-attention a word at a time: an attention with a state of its own, and one with a cache."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention import Attention, AttentionBase, MultiHead
from attnjax.attention.mask import MaskLike, as_mask
from attnjax.attention.position import Positions
from attnjax.models import DecoderLayer, EncoderLayer, FeedForward, Transformer
from attnjax.models.beam_cache import BeamState
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


def decoder(self_attention: AttentionBase) -> Transformer:
    """A Transformer whose decoder has this self-attention."""
    heads, feed_forward = MultiHead(heads=HEADS), FeedForward(width=5)
    return Transformer(
        vocabulary=12,
        width=8,
        num_encoder_layers=1,
        num_decoder_layers=2,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=self_attention, cross_attention=heads, feed_forward=feed_forward
        ),
        dropout=0.0,
    )


@pytest.mark.parametrize(
    "self_attention", [Mean(), MultiHead(head=Mean(), heads=HEADS)], ids=["plain", "heads"]
)
def test_an_attention_with_a_state_is_stepped_as_all_at_once(self_attention, float64):
    model = decoder(self_attention)
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


@pytest.mark.parametrize("recurrent", [True, False])
def test_only_a_cache_grows_with_the_words(recurrent):
    model = decoder(MultiHead(head=Mean() if recurrent else Attention(), heads=HEADS))
    call: Any = functools.partial(model.apply, {"params": initial(model)})
    memory, mask = call(SOURCE, deterministic=True, method="encode")
    _, cache, state = call(memory, mask, length=3, beams=2, method="start")
    assert isinstance(state, BeamState)
    grown, after = call(cache, state, length=7, method="grow_cache")
    assert after.back_pointers.shape == (len(SOURCE), 2, 7)
    shapes = [leaf.shape[-2] for leaf in jax.tree.leaves(grown)]
    if recurrent:
        assert not shapes
        assert jax.tree.leaves(state.recurrent)
        jax.tree.map(np.testing.assert_array_equal, after.recurrent, state.recurrent)
    else:
        assert set(shapes) == {7 * 2}
        assert not jax.tree.leaves(after.recurrent)


def test_an_attention_without_a_state_refuses_a_step():
    with pytest.raises(ValueError, match="Attention has no state: call attend with all keys"):
        Attention().apply({}, jnp.ones((1, 1, 4)), None, None, method="step")
