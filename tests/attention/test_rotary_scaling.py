"""Rotary angles for longer texts: interpolated, of a larger base, YaRN."""

import numpy as np
import pytest

from attnjax.attention.position import Positions
from attnjax.attention.score.positional import Rotary, rotary
from attnjax.attention.score.rotary_scaling import (
    Interpolated,
    LargerBase,
    RotaryScaling,
    Yarn,
    unscaled_rates,
)
from attnjax.errors import UserError
from tests.attention.short import AT, D, T, drawn


def test_interpolated_angles_are_those_of_nearer_words(float64):
    x = drawn()
    turned = rotary(x, 8 * AT.query, scaling=Interpolated(factor=8.0))
    np.testing.assert_allclose(turned, rotary(x, AT.query), rtol=0, atol=1e-12)


def test_a_larger_base_keeps_the_fastest_pair_and_divides_the_slowest():
    own, scaled = unscaled_rates(64, 1e4), LargerBase(factor=8.0).rates(64, 1e4)
    np.testing.assert_allclose(scaled[0], own[0], rtol=1e-12)
    np.testing.assert_allclose(scaled[-1], own[-1] / 8, rtol=1e-12)
    assert ((own / 8 <= scaled * (1 + 1e-12)) & (scaled <= own * (1 + 1e-12))).all()


def test_yarn_divides_slow_pairs_alone_between_the_pairs_of_its_program():
    scaling = Yarn(factor=16.0, trained_length=4096)
    own, scaled = unscaled_rates(128, 1e4), scaling.rates(128, 1e4)
    # find_correction_range(32, 1, 128, 10000, 4096) of the authors' program
    low, high = 20, 46
    np.testing.assert_allclose(scaled[: low + 1], own[: low + 1], rtol=1e-12)
    np.testing.assert_allclose(scaled[high:], own[high:] / 16, rtol=1e-12)
    share = (33 - low) / (high - low)
    np.testing.assert_allclose(scaled[33], own[33] * (1 - share) + own[33] / 16 * share, rtol=1e-12)
    turns = own * 4096 / (2 * np.pi)
    assert turns[low] >= 32 > turns[low + 1]
    assert turns[high - 1] > 1 >= turns[high]


@pytest.mark.parametrize(
    "scaling",
    [Interpolated(), LargerBase(), Yarn(trained_length=8)],
    ids=lambda x: type(x).__name__,
)
def test_scaled_angles_depend_on_distances_alone(scaling: RotaryScaling, float64):
    query, key = drawn(1, T, D), drawn(2, T, D)[1:]
    score = Rotary(scaling=scaling)
    logits = score.apply({}, query, key, AT)
    moved = score.apply({}, query, key, Positions(AT.query + 50, AT.key + 50))
    np.testing.assert_allclose(moved, logits, rtol=0, atol=1e-11)
    q, k = (rotary(x, AT.query, scaling=scaling) for x in (query, key))
    expected = np.einsum("btk,bsk->bts", q, k) / D**0.5 * scaling.temperature()
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-12)


def test_a_factor_below_one_is_refused():
    with pytest.raises(UserError, match=r"Yarn.factor must be at least 1; got 0.5"):
        Yarn(factor=0.5)
