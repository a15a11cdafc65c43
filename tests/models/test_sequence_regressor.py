"""A sequence's number: an independent forward pass, padding, the order of steps, the mean."""

import jax
import numpy as np
import pytest

from attnjax.attention.align.base import Uniform
from attnjax.attention.attention import Attention
from attnjax.attention.score.base import Dot
from attnjax.models.sequence_regressor import SequenceRegressor
from tests import jitted

ATTENTION = SequenceRegressor(width=6)
MEAN = SequenceRegressor(width=6, attention=Attention(score=Dot(), align=Uniform()))
STEPS = np.random.default_rng(0).normal(size=(2, 5, 2))
ASKED = np.full((2, 1, 1), np.nan)  # the answer is not read


def forward(own: dict, steps: np.ndarray) -> float:
    """The number of one sequence, in NumPy."""

    def layer(name, x):
        x = x @ own[name]["kernel"] + own[name]["bias"]
        return np.where(x > 0, x, 0.01 * x)

    states = layer("states", steps)
    weights = np.full(len(steps), 1 / len(steps))
    if "attention" in own:
        score = own["attention"]["score"]
        weights = np.exp(np.tanh(states @ score["weight"] + score["bias"]))
        weights = weights / weights.sum()
    return layer("out", layer("context", weights @ states))


@pytest.mark.parametrize("model", [ATTENTION, MEAN])
def test_the_number_is_that_of_an_independent_program(model, float64):
    params = jitted.drawn(model, STEPS, ASKED, deterministic=True)["params"]
    found = jitted.apply(model, {"params": params}, STEPS, ASKED, deterministic=True)
    expected = [forward(params, steps) for steps in STEPS]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    padded = np.pad(STEPS[:, ::-1], ((0, 0), (0, 2), (0, 0)), constant_values=np.nan)
    found = jitted.apply(model, {"params": params}, padded, ASKED, deterministic=True)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_numbers_of_parameters_and_their_size_are_the_papers():
    """Raffel and Ellis 2015, section 2.2: 10,602 and 10,501; section 2.1: N(0, 1 / N)."""
    counts = []
    for model in (SequenceRegressor(), SequenceRegressor(attention=MEAN.attention)):
        drawn = jitted.init(model, jax.random.key(0), STEPS, ASKED, deterministic=True)
        counts.append(sum(leaf.size for leaf in jax.tree.leaves(drawn["params"])))
        assert np.std(drawn["params"]["context"]["kernel"]) == pytest.approx(0.1, rel=0.05)
        assert np.std(drawn["params"]["states"]["kernel"]) == pytest.approx(0.5**0.5, rel=0.2)
    assert counts == [10_602, 10_501]


def test_its_attention_is_shown():
    drawn = jitted.drawn(ATTENTION, STEPS, ASKED, deterministic=True)
    weights = jitted.call(ATTENTION, "alignment", drawn["params"], STEPS, ASKED)
    assert weights.shape == (2, 1, 5)
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)
