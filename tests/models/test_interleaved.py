"""Stacks whose layers differ: which layer is which, training, search, what is refused."""

import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.state.recurrent import DeltaRule
from attnjax.config.serialize import from_json, to_json
from attnjax.errors import UserError
from attnjax.models.feed_forward import FeedForward
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import EncoderLayer, Interleaved
from tests import jitted
from tests.models.mixed import DELTA, PAIRS, SOFTMAX, language_model, layer, mixed
from tests.models.small import GIVEN, HEADS, SOURCE, initial
from tests.models.stepwise import stepped_and_parallel


def test_every_nth_layer_is_the_other_one():
    model = language_model(layer=DELTA, interleaved=Interleaved(layer=SOFTMAX, period=2))
    params = initial(model)
    heads = [params[f"layers_{n}"]["self_attention"].get("head") for n in range(3)]
    assert [head is not None for head in heads] == [True, False, True]


def test_two_stacks_whose_layers_are_all_alike_are_one(float64):
    """A stack of which every layer is interleaved is a stack of those layers."""
    own, other = language_model(layer=SOFTMAX), Interleaved(layer=SOFTMAX, period=1)
    words = np.array([[3, 4, 5], [6, 7, 2]]), np.array([[1, 5, 6], [1, 8, 0]])
    variables = initial(own)
    outputs = [
        jitted.apply(model, {"params": variables}, *words, deterministic=True, method="features")[0]
        for model in (own, language_model(layer=DELTA, interleaved=other))
    ]
    np.testing.assert_array_equal(*outputs)


SELDOM = (
    "windows with rotary, all without",
    "buckets and a cap of YaRN",
    "stick breaking and near words",
    # tests/decoding/test_todays_search.py has them
    "gated delta rule and forgetting",
    "selective heads and Taylor features",
)
"""Pairs whose caches are as those of others."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in SELDOM else []) for name in PAIRS],
)
def test_steps_of_a_mixed_stack_equal_all_words_at_once(name, float64):
    model = mixed(name)
    if name != next(iter(PAIRS)):  # of three layers, two are of one kind
        model = model.clone(num_layers=2)
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-9)


def test_a_mixed_decoder_equals_its_parallel_call(float64):
    cross = MultiHead(heads=HEADS)
    model = Transformer(
        vocabulary=12,
        width=8,
        num_encoder_layers=2,
        num_decoder_layers=2,
        encoder_layer=EncoderLayer(
            self_attention=MultiHead(heads=HEADS), feed_forward=FeedForward(width=5)
        ),
        decoder_layer=layer(Attention(), cross),
        decoder_interleaved=Interleaved(layer=layer(DeltaRule(), cross), period=2),
        dropout=0.0,
    )
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-9)


def test_settings_without_it_are_as_before_and_with_it_can_be_read():
    plain = language_model(layer=SOFTMAX)
    assert "interleaved" not in to_json(plain, {})
    mixed = language_model(layer=SOFTMAX, interleaved=Interleaved(layer=DELTA))
    assert from_json(to_json(mixed, {}), {}) == mixed


def test_an_encoders_layer_is_refused_in_a_decoder():
    model = language_model(layer=SOFTMAX, interleaved=Interleaved(layer=EncoderLayer()))
    with pytest.raises(
        UserError, match="wants to be a DecoderLayer, as they are; got EncoderLayer"
    ):
        initial(model)


def test_cross_attention_is_refused_in_any_layer_of_a_language_model():
    crossing = layer(Attention(), MultiHead(heads=HEADS))
    model = language_model(layer=SOFTMAX, interleaved=Interleaved(layer=crossing))
    with pytest.raises(UserError, match="has no other text to attend to"):
        model.with_vocabularies(12, 12)
