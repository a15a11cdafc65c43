"""The penalty on hops that look at the same words: the loss by hand, and what it is refused for."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.attention.attention import Attention
from attnjax.attention.heads.self_attentive import SelfAttentive
from attnjax.attention.score.base import Dot
from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import END
from attnjax.errors import UserError
from attnjax.models.classifier import Classifier
from attnjax.models.rnn_encoder import Encoder
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.objectives.redundancy_penalty import RedundancyPenalty
from tests.jitted import call, init

BATCH = Batch(
    np.array([[5, 6, 7, END], [4, END, 0, 0], [0, 0, 0, 0]], np.int32),
    np.array([[4], [5], [0]], np.int32),
)


def model(attention):
    return Classifier(
        vocabulary=6, source_vocabulary=8, width=3, encoder=Encoder(width=2), attention=attention
    )


def initial(classifier):
    inputs = jax.random.key(0), BATCH.source, BATCH.target
    return init(classifier, *inputs, deterministic=True, mutable=["params"])["params"]


def loss(objective, classifier, params, batch=BATCH):
    compute = jax.jit(partial(objective, classifier, state=(), key=None))
    return jax.device_get(compute(params=params, batch=batch))


@pytest.mark.long
def test_is_the_cross_entropy_and_the_penalty_of_texts_that_are_there():
    classifier = model(SelfAttentive(hops=3, width=4))
    params = initial(classifier)
    plain = loss(CrossEntropy(smoothing=0.0), classifier, params)
    found = loss(RedundancyPenalty(penalty=0.5), classifier, params)
    weights = call(classifier, "sown_attention", params, *BATCH)
    a = np.asarray(weights["attention"]["weights"][0])[:2, :, 0]
    expected = sum(np.linalg.norm(one @ one.T - np.eye(3)) ** 2 for one in a)
    np.testing.assert_allclose(found["redundancy"], (expected, 2), rtol=1e-5)
    np.testing.assert_allclose(found["loss"], (plain["loss"][0] + expected / 2, 2), rtol=1e-5)
    np.testing.assert_allclose(found["nll"], plain["nll"], rtol=1e-6)

    @jax.jit
    @jax.grad
    def gradient_of(params):
        return RedundancyPenalty()(classifier, params, (), BATCH, key=None)["redundancy"][0]

    gradient = jax.device_get(gradient_of(params))
    assert np.abs(gradient["attention"]["hops"]["kernel"]).max() > 0
    assert np.abs(gradient["label"]).max() == 0


class Sown(nn.Module):
    """A classifier with the redundancies 2, 3 and 7 of its three texts."""

    @nn.compact
    def features(self, source: jax.Array, given: jax.Array, *, deterministic: bool):
        table = self.param("label", nn.initializers.ones, (6, 2))
        self.sow("objective", "redundancy", jnp.array([[2.0], [3.0], [7.0]]))
        return table[given], table


def test_the_redundancy_of_padding_rows_does_not_count():
    params = {"label": np.ones((6, 2))}
    plain = loss(CrossEntropy(smoothing=0.0), Sown(), params)
    found = loss(RedundancyPenalty(penalty=0.5), Sown(), params)
    assert found["redundancy"] == (5, 2)
    np.testing.assert_allclose(found["loss"], (plain["loss"][0] + 2.5, 2), rtol=1e-6)


def test_an_attention_without_hops_is_refused():
    classifier = model(Attention(score=Dot()))
    params = initial(classifier)
    with pytest.raises(UserError, match="attention with several hops, such as SelfAttentive"):
        loss(RedundancyPenalty(), classifier, params)
