"""The perplexity of hidden words: of a model that knows nothing, and of one that knows a word."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.data.examples import Encoded, Examples
from attnjax.data.special_tokens import END
from attnjax.data.vocabularies import Vocabularies
from attnjax.data.vocabulary import SPECIAL, WordVocabulary
from attnjax.errors import UserError
from attnjax.evaluation import EvalInputs, MaskedWords
from attnjax.models.bert import BertEncoder, bert_layer
from attnjax.models.bert_heads import BertPretraining
from attnjax.models.transformer import Transformer

V = 8
VOCABULARY = WordVocabulary((*SPECIAL, "a", "b", "c", "d"))
TEXTS = [[4, 5, 4, END], [5, 4, END], [6, 4, 4, 4, END], [4, END]]
CORPUS = Corpus(
    vocabularies=Vocabularies(VOCABULARY, None),
    splits={"test": Examples.of(Encoded(text, []) for text in TEXTS)},
)
MODEL = BertPretraining(
    bert=BertEncoder(width=4, num_layers=1, layer=bert_layer(heads=1, width=4))
).with_vocabularies(V, None)


def measured(bias, rate):
    shapes = jax.eval_shape(
        lambda: MODEL.init(
            jax.random.key(0), jnp.ones((1, 2), int), jnp.ones((1, 0), int), deterministic=True
        )["params"]
    )
    params = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    params["word_bias"] = np.asarray(bias, np.float32)
    batching = Batching(max_tokens=40, shapes=1, batch_size_multiple=1)
    inputs = EvalInputs(MODEL, params, CORPUS, batching)
    found = MaskedWords(rate=rate).after_training(inputs)
    return {measurement.key.name: (measurement.value, measurement.better) for measurement in found}


def test_a_model_that_knows_nothing_has_the_perplexity_of_the_vocabulary():
    found = measured(np.zeros(V), 0.15)
    assert found["masked_perplexity"] == (pytest.approx(V), "lower")


def test_all_words_hidden_a_constant_guess_is_right_as_often_as_its_word():
    probabilities = np.array([0.01] * 4 + [0.5, 0.3, 0.1, 0.06])
    found = measured(np.log(probabilities), 1.0)
    words = [word for text in TEXTS for word in text[:-1]]
    expected = np.exp(-np.mean(np.log(probabilities[words])))
    assert found["masked_perplexity"][0] == pytest.approx(expected, rel=1e-5)
    assert found["masked_accuracy"] == (pytest.approx(words.count(4) / len(words)), "higher")


def test_another_model_is_refused():
    with pytest.raises(UserError, match="a model that predicts words of its source"):
        MaskedWords().check(Transformer(), CORPUS)
