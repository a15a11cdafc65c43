"""Dropout: what its bits depend on, what they do not, and how they are spread."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.nn.dropout import Dropout, dropout
from tests import jitted

KEY = jax.random.key(3)
ONES = np.ones((8, 5, 7), np.float32)
JITTED = jax.jit(dropout, static_argnums=2)


def kept(x, key=KEY, rate: float = 0.5) -> np.ndarray:
    return np.asarray(JITTED(x, key, rate)) != 0


def test_bits_depend_on_key_example_and_place_and_not_on_the_array():
    whole = kept(ONES)
    # The first examples of a batch are who they were, whatever comes after them.
    np.testing.assert_array_equal(kept(ONES[:3]), whole[:3])
    np.testing.assert_array_equal(kept(3 * ONES), whole)
    np.testing.assert_array_equal(kept(ONES.reshape(8, 35)), whole.reshape(8, 35))
    assert (kept(ONES, jax.random.key(4)) != whole).mean() > 0.3
    for example in whole[1:]:
        assert (example != whole[0]).mean() > 0.3


@pytest.mark.parametrize("devices", [2, 8])
def test_devices_draw_what_one_device_draws(devices):
    if jax.local_device_count() < devices:
        pytest.skip(f"needs {devices} devices")
    shards = ONES.reshape(devices, -1, 5, 7)
    mapped = jax.pmap(lambda x: dropout(x, KEY, 0.3), axis_name="data")(shards)
    np.testing.assert_array_equal(np.reshape(mapped, ONES.shape), JITTED(ONES, KEY, 0.3))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_share_dropped_is_the_rate_and_the_mean_stays(rate):
    x = np.full((64, 40, 40), 2.0, np.float32)
    found = np.asarray(JITTED(x, KEY, rate))
    assert set(np.unique(found)) == {0.0, np.float32(2 / (1 - rate))}
    # Five standard deviations of a binomial share: over everything, each example, each place.
    for axes, drawn in (((0, 1, 2), x.size), ((1, 2), 1600), ((0,), 64)):
        share = (found == 0).mean(axes)
        assert np.abs(share - rate).max() < 5 * np.sqrt(rate * (1 - rate) / drawn)
    assert abs(found.mean() - 2) < 5 * 2 * np.sqrt(rate / (1 - rate) / x.size)


def test_examples_places_and_keys_are_independent():
    n = 4096
    bits = (
        np.stack([kept(np.ones((24, n), np.float32), jax.random.key(k)) for k in range(4)]) * 2.0
        - 1
    )
    bound = 6 / np.sqrt(n)  # six standard deviations of a correlation of n fair coins
    lines = bits.reshape(-1, n)
    correlation = lines @ lines.T / n - np.eye(len(lines))
    assert np.abs(correlation).max() < bound
    # Nor is one example another one moved along.
    for moved in (1, 2, 3, 64, 511):
        assert np.abs(lines @ np.roll(lines, moved, 1).T / n).max() < bound
    places = kept(np.ones((n, 48), np.float32)) * 2.0 - 1
    correlation = places.T @ places / n - np.eye(48)
    assert np.abs(correlation).max() < bound


def test_a_dropped_entry_has_no_gradient():
    slope = jax.jit(jax.grad(lambda x: dropout(x, KEY, 0.5).sum()))(ONES)
    np.testing.assert_array_equal(slope, np.where(kept(ONES), 2.0, 0.0))


class Two(nn.Module):
    """Two dropouts of one rate, one after the other."""

    rate: float

    @nn.compact
    def __call__(self, x, *, deterministic):
        first = Dropout(self.rate)(x, deterministic=deterministic)
        return first, Dropout(self.rate)(x, deterministic=deterministic)


def test_every_place_in_a_model_has_bits_of_its_own():
    first, second = jitted.apply(Two(0.5), {}, ONES, deterministic=False, rngs={"dropout": KEY})
    assert 0.3 < (np.asarray(first) != np.asarray(second)).mean() < 0.7


def test_nothing_is_dropped_at_rate_0_or_when_deterministic():
    x = jnp.asarray(ONES + np.arange(7, dtype=np.float32))
    np.testing.assert_array_equal(dropout(x, KEY, 0.0), x)
    for rate, deterministic in ((0.0, False), (0.5, True)):
        first, _ = Two(rate).apply({}, x, deterministic=deterministic)
        assert first is x


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_a_rate_outside_its_range_is_refused(rate):
    with pytest.raises(ValueError, match=rf"at least 0 and below 1; got {rate}"):
        dropout(ONES, KEY, rate)
    with pytest.raises(ValueError, match=rf"at least 0 and below 1; got {rate}"):
        Dropout(rate).apply({}, ONES, deterministic=False, rngs={"dropout": KEY})


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_half_precision_stays(dtype):
    found = JITTED(ONES.astype(dtype), KEY, 0.5)
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.asarray(found, np.float32) != 0, kept(ONES))
