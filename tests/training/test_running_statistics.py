"""The running statistics of a batch norm, through a whole training: saved, resumed, averaged."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.data.special_tokens import PAD
from attnjax.nn.norm import BatchNorm
from tests.training.looping import PER_EPOCH, go, same
from tests.training.toy import WORDS, Toy


class NormedToy(Toy):
    """Predicts from the word before alone, normalized over the batch's words."""

    @nn.compact
    def features(self, source: jax.Array, given: jax.Array, *, deterministic: bool):
        table = self.param("table", nn.initializers.normal(0.3), (WORDS, 4))
        valid = None if deterministic else (given != PAD) & (source != PAD).any(1, keepdims=True)
        return nn.Dense(4)(BatchNorm(name="norm")(table[given], valid)), table


@pytest.mark.long
def test_a_lengthened_training_equals_the_longer_one(tmp_path):
    short, long = PER_EPOCH + 2, 2 * PER_EPOCH + 1
    (whole,) = go(tmp_path / "whole", 0, model=NormedToy(), steps=long)
    go(tmp_path / "grown", 0, model=NormedToy(), steps=short)
    (grown,) = go(tmp_path / "grown", 0, model=NormedToy(), steps=long)
    assert same(grown.params, whole.params)
    assert (np.abs(whole.params["norm"]["running_mean"]) > 1e-3).all()


def test_seeds_together_are_the_seeds_alone_and_an_average_is_the_mean(tmp_path):
    each, alone = go(tmp_path / "both", 0, 1, model=NormedToy(), average=2)[1], []
    for steps in (2 * PER_EPOCH, 3 * PER_EPOCH):
        folder = tmp_path / str(steps)
        alone += go(folder, 1, model=NormedToy(), steps=steps)
    for name in ("running_mean", "running_variance"):
        before, after = (one.params["norm"][name] for one in alone)
        assert not jnp.allclose(before, after, rtol=1e-3)
        np.testing.assert_allclose(each.params["norm"][name], (before + after) / 2, rtol=1e-4)
