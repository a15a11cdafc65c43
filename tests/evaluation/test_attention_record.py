"""The kept weights against those of a sentence without a batch."""

import io
from base64 import b64decode
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from attnjax.attention.attention import Attention
from attnjax.attention.score.kernel import Gaussian
from attnjax.config.serialize import from_json, to_json
from attnjax.data.batching import Batching
from attnjax.data.generated.regression import NoisyFunction
from attnjax.data.generated.shapes import Shapes
from attnjax.evaluation.attention_record import LayerWeights, attention_record
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.models.captioner import Captioner, Convolutions
from attnjax.models.kernel_regression import KernelRegression
from tests.evaluation.measures.test_masked_words import CORPUS, MODEL, TEXTS, VOCABULARY
from tests.evaluation.measures.unbatched import alone


def test_every_layer_and_head_is_kept_with_its_words(inputs):
    kept = attention_record(inputs, 3)
    assert from_json(to_json(kept)) == kept
    for number, sentence in enumerate(kept):
        example, seen = inputs.corpus.splits["test"][number], alone(inputs, number)
        assert sentence.source == tuple(inputs.corpus.vocabularies.source.tokens(example.source))
        assert [layer.name for layer in sentence.layers] == [
            "encoder_layers_0.self_attention",
            "decoder_layers_0.self_attention",
            "decoder_layers_0.cross_attention",
            "decoder_layers_1.self_attention",
            "decoder_layers_1.cross_attention",
        ]
        own, across = ("inputs", "inputs"), ("target", "source")
        kinds = [(layer.rows, layer.columns) for layer in sentence.layers]
        assert kinds == [("source", "source"), own, across, own, across]
        for layer in sentence.layers:
            tree = seen
            for name in layer.name.split("."):
                tree = tree[name]
            (weights,) = tree["head"]["weights"]
            np.testing.assert_allclose(layer.array(), weights[0], atol=layer.scale / 400)
            lengths = [len(sentence.words(kind)) for kind in (layer.rows, layer.columns)]
            assert lengths == [*layer.shape[1:]]
    assert kept[0].words("inputs")[0] == "<start>"


def test_what_is_no_weight_becomes_nothing():
    weights = np.asarray([[[np.nan, -1.0, np.inf * 0, 0.5]]])
    layer = LayerWeights.of("x", "target", "source", weights)
    np.testing.assert_array_equal(layer.array(), [[[0, 0, 0, 0.5]]])
    assert layer.name == "x (weights below 0 left out)"
    assert LayerWeights.of("x", "target", "source", abs(weights)).name == "x"


def test_points_are_labels_of_a_regression():
    corpus = NoisyFunction(train=100, test=23, sets=2).load()
    model = KernelRegression(attention=Attention(score=Gaussian(bandwidth=0.3)))
    batching = Batching(max_tokens=200, shapes=1, batch_size_multiple=1)
    (sentence, _) = attention_record(EvalInputs(model, {}, corpus, batching))
    (layer,) = sentence.layers
    assert layer.shape == (1, 23, 64)
    assert [*map(float, sentence.source)] == sorted(map(float, sentence.source))


def test_a_text_without_a_target_is_kept_with_the_words_that_the_model_reads():
    source, none = jnp.ones((1, 2), jnp.int32), jnp.ones((1, 0), jnp.int32)
    init = partial(MODEL.init, deterministic=True)
    params = jax.jit(init)(jax.random.key(0), source, none)["params"]
    batching = Batching(max_tokens=40, shapes=1, batch_size_multiple=1)
    kept = attention_record(EvalInputs(MODEL, params, CORPUS, batching))
    for sentence, text in zip(kept, TEXTS, strict=True):
        (layer,) = sentence.layers
        assert sentence.words(layer.columns) == ("<start>", *VOCABULARY.tokens(text))
        lengths = [len(sentence.words(kind)) for kind in (layer.rows, layer.columns)]
        assert lengths == [*layer.shape[1:]]


@pytest.mark.long
def test_an_image_is_kept_with_its_patches():
    corpus = Shapes(train=4, valid=2, test=2).load()
    model = Captioner(width=8, embedding=8, encoder=Convolutions())
    model = model.with_vocabularies(*corpus.vocabularies.sizes)
    first = corpus.splits["test"][0]
    source, words = jnp.asarray(first.source[None]), jnp.ones((1, 3), jnp.int32)
    params = model.init(jax.random.key(0), source, words, deterministic=True)["params"]
    sentence, _ = attention_record(EvalInputs(model, params, corpus, Batching(max_tokens=500)))
    (layer,) = sentence.layers
    assert sentence.grid[0] * sentence.grid[1] == layer.shape[2] == len(sentence.source)
    pixels = np.asarray(Image.open(io.BytesIO(b64decode(sentence.image))))
    np.testing.assert_allclose(pixels / 255, first.source, atol=1 / 255)
