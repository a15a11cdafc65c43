"""The models that take minutes on a laptop, as the benchmark builds them."""

import jax
import numpy as np
import pytest

from attnjax.benchmark import laptop


def test_nanogpts_model_has_its_size():
    """Every weight of a linear map is multiplied three times a word, and attention is causal."""
    prepared = laptop.gpt()
    words, weights = 12 * 64, 4 * (4 * 128**2 + 2 * 128 * 512) + 69 * 128
    attention = 4 * 2 * 2 * words * 64 * 128
    assert prepared.flops == pytest.approx(3 * (2 * words * weights + attention), rel=0.01)


def test_an_update_of_the_copying_model_lowers_its_loss():
    prepared = laptop.copying()
    losses = [float(jax.device_get(prepared.call()["loss"])) for _ in range(20)]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0]
