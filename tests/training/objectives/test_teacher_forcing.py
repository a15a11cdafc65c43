"""Teacher forcing in a part of the examples, against a loop that feeds one word after the other."""

import itertools
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.heads.multihead import MultiHead
from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import PAD, START
from attnjax.models.feed_forward import FeedForward
from attnjax.models.rnn_decoders import BahdanauDecoder, LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.objectives.teacher_forcing import TeacherForcing, predicted_inputs
from tests import jitted
from tests.training.toy import WORDS, ragged

HEADS = MultiHead(heads=2)
MODELS = {
    "luong": Seq2Seq(width=8, encoder=Encoder(width=4), decoder=LuongDecoder(width=8)),
    "bahdanau": Seq2Seq(width=8, encoder=Encoder(width=4), decoder=BahdanauDecoder(width=8)),
    "transformer": Transformer(
        width=8,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(self_attention=HEADS, feed_forward=FeedForward(width=8)),
        decoder_layer=DecoderLayer(
            self_attention=HEADS, cross_attention=HEADS, feed_forward=FeedForward(width=8)
        ),
    ),
}
BATCH: Any = jax.device_put(ragged(1, seed=0)[0])
KEY = jax.random.key(7)


def prepared(name: str, **changes: Any) -> tuple[Any, Any]:
    """Return a model without dropout, and parameters."""
    model = MODELS[name].clone(**{"dropout": 0.0} | changes).with_vocabularies(WORDS, WORDS)
    drawn = jitted.drawn(model, BATCH.source, BATCH.target, deterministic=True)
    return model, jax.device_put(drawn["params"])


def loss(objective: CrossEntropy, model: Any, params: Any, batch: Batch = BATCH) -> jax.Array:
    return objective(model, params, (), batch, key=KEY)["nll"][0]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "transformer" else pytest.mark.long)
        for name in MODELS
    ],
)
def test_without_teacher_forcing_each_word_is_the_models_own(name):
    model, params = prepared(name)
    rows, length = BATCH.target.shape
    given = np.full((rows, length), START, np.int32)
    forward = jax.jit(partial(model.apply, {"params": params}, deterministic=True))
    for place in range(given.shape[1] - 1):
        logits = np.array(forward(BATCH.source, given)[:, place])
        logits[:, [PAD, START]] = -np.inf
        given[:, place + 1] = logits.argmax(-1)
    found = jax.jit(partial(predicted_inputs, model, params, length=given.shape[1]))(BATCH.source)
    np.testing.assert_array_equal(found, given)
    assert (found[:, 1:] != BATCH.target[:, :-1]).any()

    def by_hand(params: Any) -> jax.Array:
        logits = model.apply({"params": params}, BATCH.source, given, deterministic=True)
        logs = jax.nn.log_softmax(logits)
        gold = jnp.take_along_axis(logs, BATCH.target[..., None], -1)[..., 0]
        return -jnp.where(BATCH.target != PAD, gold, 0).sum()

    ours = jax.jit(
        jax.value_and_grad(
            lambda params: TeacherForcing(probability=0.0)(model, params, (), BATCH, key=KEY)[
                "loss"
            ][0]
        )
    )(params)
    theirs = jax.jit(jax.value_and_grad(by_hand))(params)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5), ours, theirs)


@pytest.mark.parametrize(
    "key", [KEY, pytest.param(None, marks=pytest.mark.long)], ids=["training", "validation"]
)
def test_with_probability_1_it_is_the_cross_entropy(key):
    model, params = prepared("luong", dropout=0.3)
    ours, theirs = (
        jax.jit(lambda params, key, one=one: one(model, params, (), BATCH, key=key))(params, key)
        for one in (TeacherForcing(probability=1.0, smoothing=0.1), CrossEntropy(smoothing=0.1))
    )
    for name, pair in theirs.items():
        np.testing.assert_array_equal(ours[name], pair)


@pytest.mark.long
def test_each_example_is_one_or_the_other_drawn_anew_every_update():
    model, params = prepared("luong")
    found = jax.jit(lambda key: TeacherForcing()(model, params, (), BATCH, key=key)["nll"][0])
    rows = [Batch(*(side[row : row + 1] for side in BATCH)) for row in range(7)]
    forced, free = (
        [float(loss(TeacherForcing(probability=share), model, params, row)) for row in rows]
        for share in (1.0, 0.0)
    )
    choices = list(itertools.product((True, False), repeat=7))
    chosen = np.array([np.where(choice, forced, free).sum() for choice in choices])
    drawn = []
    for step in range(6):
        distance = np.abs(chosen - float(found(jax.random.key(step))))
        assert distance.min() < 1e-3
        drawn.append(choices[distance.argmin()])
    assert len(set(drawn)) > 3
    assert 10 < np.sum(drawn) < 32, "half of 42"


def test_validation_is_under_teacher_forcing():
    model, params = prepared("luong")

    @jax.jit
    def losses(params, batch):
        objectives = TeacherForcing(probability=0.0), CrossEntropy(smoothing=0.0)
        return [objective(model, params, (), batch, key=None)["loss"] for objective in objectives]

    np.testing.assert_array_equal(*losses(params, BATCH))
