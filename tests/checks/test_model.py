"""Models of attnjax have every property; a model with a planted mistake is found by name."""

from typing import Any

import jax.numpy as jnp
import pytest
from flax import linen as nn

from attnjax.lab.checks import check_model
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer

SOURCE = jnp.array([[5, 6, 7, 1], [6, 1, 0, 0]])
TARGET = jnp.array([[7, 6, 1], [6, 1, 0]])
TRANSFORMER = Transformer(width=16, num_encoder_layers=1, num_decoder_layers=1)


class Louder(Transformer):
    """A Transformer whose steps are not its parallel call."""

    def step(self, constants, cache, state, word, step):
        logits, cache, state = super().step(constants, cache, state, word, step)
        return 2 * logits, cache, state


class LouderLater(Transformer):
    """A Transformer whose steps have a gain that is 1 at first."""

    def setup(self):
        super().setup()
        self.gain = self.param("gain", nn.initializers.zeros, ())

    def step(self, constants, cache, state, word, step):
        logits, cache, state = super().step(constants, cache, state, word, step)
        return (1 + self.gain) * logits, cache, state


class Foreseeing(Transformer):
    """A Transformer whose every word knows the last."""

    def features(self, source, decoder_input, *, deterministic):
        hidden, table = super().features(source, decoder_input, deterministic=deterministic)
        return hidden + hidden[:, -1:], table


def check(model):
    model = model.with_vocabularies(9, 9)
    return {
        finding.property: finding.problem
        for finding in check_model(model, SOURCE, TARGET)
        if finding.problem
    }


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(TRANSFORMER, marks=pytest.mark.long),
        Seq2Seq(
            encoder=Encoder(width=8, layers=1, direction="forward"),
            decoder=LuongDecoder(width=8, layers=1),
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_attnjax_have_every_property(model):
    assert not check(model)


ONE_LAYER: dict[str, Any] = {"width": 16, "num_encoder_layers": 1, "num_decoder_layers": 1}


def test_a_step_that_is_not_the_parallel_call_is_found_by_name():
    assert check(Louder(**ONE_LAYER)).keys() == {"step by step equals parallel"}


def test_a_step_that_learns_to_be_another_is_found_by_name():
    (sentence,) = check(LouderLater(**ONE_LAYER)).values()
    assert sentence.startswith("a logit differs by up to ")
    assert sentence.endswith(", once its parameters have moved")


@pytest.mark.long
def test_a_word_that_knows_the_last_is_found_by_name():
    assert "causal" in check(Foreseeing(**ONE_LAYER))
