"""Masks joined by |: booleans, tiles, attention, keys that all hide."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.mask import Causal, Mask, Padding, Prefix, Window
from attnjax.attention.position import BlockRange
from attnjax.errors import UserError
from tests.attention import oracle
from tests.attention.short import AT, D, T, called, drawn


def test_a_union_allows_what_either_allows_in_tiles_too():
    masks = Window(1, 0), Prefix(2), Prefix(1, of="query")
    union = masks[0] | masks[1] | masks[2]
    expected = np.logical_or.reduce([np.broadcast_to(m.dense(AT), (1, T, T)) for m in masks])
    np.testing.assert_array_equal(np.broadcast_to(union.dense(AT), (1, T, T)), expected)
    numbers = np.arange(T)[None]
    tiles = union.block(BlockRange.of(numbers, 2), BlockRange.of(numbers, 2))
    blocks = expected.reshape(1, T // 2, 2, T // 2, 2)
    assert (np.asarray(tiles.any) >= blocks.any((2, 4))).all()
    assert (np.asarray(tiles.all) <= blocks.all((2, 4))).all()
    assert not np.asarray(tiles.any).all()
    assert np.asarray(tiles.all).any()
    assert union.has_blocks()


def test_a_union_in_an_attention_equals_its_booleans(float64):
    x = drawn()
    union = Window(1, 0) | Prefix(1)
    inner = Attention(mask=union)
    context = called(inner, {}, x, mask=Causal())
    allowed = np.asarray(jnp.broadcast_to((union & Causal()).dense(AT), (1, T, T)))[0]
    for sentence, got in zip(np.asarray(x), context, strict=True):
        weights = oracle.softmax(oracle.scaled_dot(sentence, sentence), allowed)
        np.testing.assert_allclose(got, weights @ sentence, rtol=0, atol=1e-12)


class NoBlocks(Mask):
    """A mask of one's own that no fused kernel can read."""

    def dense(self, positions):
        return positions.key[..., None, :] >= 0


def test_a_union_with_a_rule_that_has_no_blocks_has_none_under_another_rule_either():
    assert (Causal() & (Window(1, 0) | Prefix(1))).has_blocks()
    assert not (NoBlocks() | Prefix(1)).has_blocks()
    assert not (Causal() & (NoBlocks() | Prefix(1))).has_blocks()


def test_a_union_hides_what_all_hide():
    present = jnp.array([[True, True, False, False]])
    other = jnp.array([[False, True, True, False]])
    union = Padding(present) | Padding(other)
    np.testing.assert_array_equal(union.seen_keys(), present | other)
    assert (Padding(present) | Prefix(1)).seen_keys() is None
    with pytest.raises(UserError, match="wants a rule without arrays"):
        Attention(mask=union).init(jax.random.key(0), jnp.zeros((1, 4, D)), deterministic=True)
