"""A fixed vector: the last value there is, whoever asks."""

import jax
import numpy as np
import pytest

from attnjax.attention.heads.last_state import LastState
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, DenseMask, Padding
from tests import jitted

QUERY, VALUE = np.ones((2, 3, 5)), np.random.default_rng(0).normal(size=(2, 4, 6))


def attend(mask, value=VALUE, **fields):
    return jitted.apply(
        LastState(**fields),
        {},
        QUERY,
        value,
        value,
        mask,
        deterministic=True,
        mutable=["attention"],
    )


@pytest.mark.parametrize(
    ("mask", "last"),
    [
        (None, np.full((2, 3), 3)),
        (Padding(np.arange(4)[None] < np.array([[4], [2]])), np.array([[3] * 3, [1] * 3])),
        (Causal(), np.tile(np.arange(3), (2, 1))),
        (DenseMask(np.array([[True, False, True, False]])), np.full((2, 3), 2)),
    ],
    ids=["none", "padding", "causal", "holes"],
)
def test_is_the_last_value_that_the_mask_allows(mask, last, float64):
    context, seen = attend(mask)
    np.testing.assert_array_equal(context, np.take_along_axis(VALUE, last[..., None], 1))
    np.testing.assert_array_equal(seen["attention"]["weights"][0], np.eye(4)[last])


def test_of_both_readers_is_where_each_of_them_ends(float64):
    mask = Padding(np.array([[False, True, True, False], [True] * 4]))
    context, seen = attend(mask, readers="both")
    for row, (first, last) in enumerate([(1, 2), (0, 3)]):
        ends = np.concatenate([VALUE[row, last, :3], VALUE[row, first, 3:]])
        np.testing.assert_array_equal(context[row], np.tile(ends, (3, 1)))
        weights = (np.eye(4)[first] + np.eye(4)[last]) / 2
        np.testing.assert_array_equal(seen["attention"]["weights"][0][row], [weights] * 3)


@pytest.mark.parametrize("readers", ["forward", "both"])
def test_a_row_that_may_attend_to_nothing_is_zero(readers, float64):
    nothing = Padding(np.array([[False] * 4, [True] * 4]))

    def first(value):
        return (attend(nothing, value, readers=readers)[0] ** 2).sum()

    context, seen = attend(nothing, readers=readers)
    assert (context[0] == 0).all()
    assert (seen["attention"]["weights"][0][0] == 0).all()
    gradient = np.asarray(jax.jit(jax.grad(first))(VALUE))
    assert (gradient[0] == 0).all()
    half = slice(None, 3) if readers == "both" else slice(None)
    # three queries, 2 v each
    np.testing.assert_array_equal(gradient[1, -1, half], 6 * VALUE[1, -1, half])


def test_sits_in_heads():
    heads = MultiHead(head=LastState(), heads=2)
    x = VALUE.astype(np.float32)
    params = jitted.init(heads, jax.random.key(0), x, x, x, deterministic=True)
    out, seen = jitted.apply(heads, params, x, x, x, deterministic=True, mutable=["attention"])
    assert out.shape == x.shape
    assert seen["attention"]["head"]["weights"][0].shape == (2, 2, 4, 4)
