"""The last layer's gradient against finite differences of the loss."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.errors import UserError
from attnjax.evaluation.measures.last_layer_gradient import LastLayerGradient
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.nn.paths import flat, unflat
from attnjax.training.objectives.base import CrossEntropy

KERNEL = "decoder_layers_1.feed_forward.out.kernel"


def test_it_is_the_norm_of_the_loss_s_slope_in_the_last_layer(inputs):
    (found,) = LastLayerGradient(examples=6).at_init(inputs)
    batch = inputs.first(6)
    assert (batch.source[:, 0] != 0).sum() == 6
    params, (rows, columns) = flat(inputs.params), flat(inputs.params)[KERNEL].shape

    @jax.jit
    def loss(changes):
        def of(change):
            tree = unflat({**params, KERNEL: params[KERNEL] + change})
            sums = CrossEntropy(smoothing=0.0)(inputs.model, tree, (), batch, key=None)["loss"]
            return sums[0] / sums[1]

        return jax.lax.map(of, changes)

    step = 1e-2
    steps = step * np.eye(rows * columns, dtype=np.float32).reshape(-1, rows, columns)
    slopes = (loss(jnp.asarray(steps)) - loss(-jnp.asarray(steps))) / (2 * step)
    assert found.value == pytest.approx(float(jnp.linalg.norm(slopes)), rel=1e-2)
    assert found.key == LastLayerGradient().keys(None)[0]


def test_a_model_without_layers_is_refused(inputs):
    model = Seq2Seq(width=8, encoder=Encoder(width=8))
    with pytest.raises(UserError, match="LastLayerGradient needs layers with feed-forward"):
        LastLayerGradient().check(model, inputs.corpus)
