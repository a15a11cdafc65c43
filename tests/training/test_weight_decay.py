"""Weight decay and its models: which leaves it shrinks, and which nothing may change."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn, traverse_util

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.state.feature_map import PositiveRandomFeatures
from attnjax.attention.state.linear import LinearAttention
from attnjax.models.rnn_cells import GRU
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adadelta, Adam, GradientDescent, Optimizer
from attnjax.training.schedules import Constant
from attnjax.training.step import initial_state, on_one_device, train_step
from tests.training.test_precision import BATCH, KEY, MODELS, recipe
from tests.training.test_sharding import RECURRENT, TRANSFORMER
from tests.training.toy import WORDS, Toy

PERFORMER = MultiHead(head=LinearAttention(feature_map=PositiveRandomFeatures(features=5)), heads=2)
MODELS = {
    **MODELS,
    "gru": (
        RECURRENT.clone(
            encoder=Encoder(cell=GRU(), width=4, layers=2),
            decoder=LuongDecoder(cell=GRU(), width=8, layers=2),
        ),
        CrossEntropy(),
    ),
    "performer": (
        TRANSFORMER.clone(encoder_layer=TRANSFORMER.encoder_layer.clone(self_attention=PERFORMER)),
        CrossEntropy(),
    ),
}
STAY = {
    "transformer": {"bias", "scale"},
    "batch norm": {"bias", "scale", "running_mean", "running_variance"},
    "luong": {"bias"},
    "bahdanau": {"bias"},
    "bert": {"bias", "scale", "word_bias"},
    "language model": {"bias", "scale"},
    "gru": {"bias", "candidate_bias"},
    "performer": {"bias", "scale", "constant_projection"},
}


@pytest.mark.parametrize("name", MODELS)
def test_only_weights_decay(name):
    """Where all gradients are 0 the decay alone changes a leaf."""
    state = jax.eval_shape(partial(initial_state, batch=BATCH, recipe=recipe(*MODELS[name])), KEY)
    params = jax.tree.map(lambda leaf: np.ones(leaf.shape, np.float32), state.params)
    transform = Adam(weight_decay=0.5, schedule=Constant(value=0.5)).make()

    @jax.jit
    def decay(params):
        no_slope = jax.tree.map(jnp.zeros_like, params)
        return transform.update(no_slope, transform.init(params), params)[0]

    updates = jax.device_get(decay(params))
    stay = set()
    for path, update in traverse_util.flatten_dict(updates, sep=".").items():
        if (update == 0).all():
            stay.add(path.rsplit(".", 1)[-1])
        else:
            np.testing.assert_allclose(update, -0.25, err_msg=path)
    assert stay == STAY[name]


class ToyWithConstant(Toy):
    """Has a constant whose gradient is not 0."""

    @nn.compact
    def features(self, source: jax.Array, given: jax.Array, *, deterministic: bool):
        rows = self.param("constant_projection", nn.initializers.normal(1.0), (4, 4))
        table = self.param("table", nn.initializers.normal(0.3), (WORDS, 4))
        return nn.Dense(4)(table[given] @ rows), table


@pytest.mark.parametrize(
    "optimizer",
    [Adam(weight_decay=0.5), Adadelta(), GradientDescent()],
    ids=["adam", "adadelta", "gradient-descent"],
)
def test_an_update_leaves_a_constant_as_it_is(optimizer: Optimizer):
    wanted = recipe(ToyWithConstant(), CrossEntropy())
    wanted = replace(wanted, optimizer=replace(optimizer, schedule=Constant(value=0.5)))
    before = jax.jit(partial(initial_state, batch=BATCH, recipe=wanted))(KEY)
    after, _ = jax.jit(partial(train_step, recipe=wanted, over_devices=on_one_device))(
        before, BATCH
    )
    first_params, params = jax.device_get((before.params, after.params))
    for path, x in traverse_util.flatten_dict(params, sep=".").items():
        first = traverse_util.flatten_dict(first_params, sep=".")[path]
        assert (x == first).all() == (path == "constant_projection"), path
