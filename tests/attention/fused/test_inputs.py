"""The layout of `fused`: JAX's own function in float64, and shapes that tell another layout."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.fused import fused
from attnjax.attention.mask import Causal, Padding
from attnjax.attention.position import Positions
from attnjax.errors import UserError

B, T, S, N, H, V = 2, 5, 7, 3, 4, 6
DRAW = np.random.default_rng(0).normal
QUERY, KEY, VALUE = (DRAW(size=(B, *shape)) for shape in ((T, N, H), (S, N, H), (S, N, V)))
ALLOWED = np.random.default_rng(1).random((B, 1, T, S)) < 0.7


def expected(query, key, value, allowed):
    """The first line of `jax.nn.dot_product_attention`, in NumPy; [B, T, N, H]."""
    logits = np.einsum("btnh,bsnh->bnts", query, np.broadcast_to(key, (B, S, N, H))) / H**0.5
    weights = np.where(allowed, np.exp(logits), 0)
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bnts,bsnv->btnv", weights, np.broadcast_to(value, (B, S, N, V)))


@pytest.mark.parametrize("heads", [N, 1])
def test_heads_behind_words_are_those_of_jax(heads, float64):
    key, value = KEY[:, :, :heads], VALUE[:, :, :heads]
    attend = jax.jit(fused, static_argnames="layout")
    found = np.asarray(attend(QUERY, key, value, ALLOWED, layout="BTNH"))
    np.testing.assert_allclose(found, expected(QUERY, key, value, ALLOWED), rtol=0, atol=1e-12)
    narrow = value[..., :H]  # as wide as keys; the weights are float32
    jaxs = jax.jit(jax.nn.dot_product_attention)(QUERY, key, narrow, mask=ALLOWED)
    np.testing.assert_allclose(found[..., :H], jaxs, rtol=0, atol=1e-6)
    first = (np.swapaxes(x, 1, 2) for x in (QUERY, key, value))
    np.testing.assert_array_equal(np.swapaxes(attend(*first, ALLOWED, layout="BNTH"), 1, 2), found)


PRESENT = Padding(jnp.ones((B, 1, T), bool)) & Causal()


@pytest.mark.parametrize(
    ("arrays", "given"),
    [
        ((QUERY, KEY, VALUE), {}),
        ((QUERY, QUERY, QUERY), {"mask": PRESENT}),
        ((QUERY, QUERY, QUERY), {"mask": jnp.ones((B, 1, T, T), bool)}),
        ((QUERY, QUERY, QUERY), {"positions": Positions(jnp.arange(T))}),
        ((QUERY, QUERY[..., :3], QUERY), {}),
    ],
    ids=["lengths", "padding", "array", "positions", "widths"],
)
def test_shapes_that_tell_another_layout_are_refused(arrays, given):
    with pytest.raises(UserError, match=r"layout BNTH wants.* is the layout BTNH \(that of JAX\)"):
        fused(*arrays, **given, layout="BNTH")
    first = [np.swapaxes(x, 1, 2) for x in arrays]
    with pytest.raises(UserError, match=r"layout BTNH wants.*: is the layout BNTH\?"):
        fused(*first, **given, layout="BTNH")


def test_other_names_and_other_axes_are_refused():
    with pytest.raises(UserError, match="the layout of fused is BNTH or BTNH; got BHTK"):
        fused(QUERY, KEY, VALUE, layout="BHTK")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match=r"BTNH wants arrays with four axes; got \[5, 3, 4\]"):
        fused(QUERY[0], KEY[0], VALUE[0], layout="BTNH")


@pytest.mark.parametrize("causal", [Causal(), None])
@pytest.mark.parametrize("four", [(0, 1, 2), (0,), (1,), (2,)], ids=str)
def test_four_axes_without_a_layout_are_refused(causal, four):
    """With as many queries as keys and no array in the mask no size tells which it is."""
    arrays = [QUERY if number in four else QUERY[0, 0] for number in range(3)]
    with pytest.raises(UserError, match=r'four axes want a layout: fused\(..., layout="BTNH"\)'):
        fused(*arrays, causal)


def test_three_axes_that_do_not_fit_are_not_of_another_layout():
    with pytest.raises(UserError, match=r"fused wants, with heads first.* S = 7$"):
        fused(QUERY[0].swapaxes(0, 1), KEY[0].swapaxes(0, 1), VALUE[0].swapaxes(0, 1)[..., :5, :])


def test_padding_is_that_of_sentences_and_heads_share_keys_in_groups():
    """As many sentences as heads: which axis is which is not told by the sizes."""
    query, key = (
        DRAW(size=(4, words, heads, H)).astype(np.float32) for words, heads in ((T, 4), (S, 2))
    )
    lengths = np.array([7, 3, 5, 1])

    @jax.jit
    def compute(query, key):
        padding = Padding.of(lengths, S)
        mask = padding.present[:, None, None, :]
        found = fused(query, key, key, padding, layout="BTNH")
        first = (x.swapaxes(1, 2) for x in (query, key, key))
        again = fused(*first, Padding(padding.present[:, None]), layout="BNTH").swapaxes(1, 2)
        return found, again, jax.nn.dot_product_attention(query, key, key, mask=mask)

    found, again, wanted = compute(query, key)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    np.testing.assert_allclose(again, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mask": Padding(np.array([7, 3]))}, "give Padding.of"),
        ({"mask": np.ones((B, T, S), bool)}, r"is \[B, N, T, S\]"),
        ({"mask": Padding(np.ones((N, S), bool))}, "layout BTNH wants"),
        ({"bias": np.ones((T, S))}, "is a function of queries and positions"),
    ],
    ids=["lengths", "array", "heads", "bias"],
)
def test_what_would_be_read_otherwise_than_by_jax_is_refused(given, sentence):
    with pytest.raises(UserError, match=sentence):
        fused(QUERY, KEY, VALUE, layout="BTNH", **given)
