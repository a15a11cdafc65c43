"""Perplexity from the model's own probabilities, and what counts as symbol, word and character."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.batching import Batching
from attnjax.data.corpora.raw_text import RawText
from attnjax.data.corpus import Corpus
from attnjax.data.generated.sequences import Copy
from attnjax.data.sentencepiece import SentencePiece
from attnjax.data.special_tokens import START
from attnjax.data.vocabulary import SplitWords
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.perplexity import Perplexity
from attnjax.models.feed_forward import FeedForward
from attnjax.models.kernel_regression import KernelRegression
from attnjax.models.language_model import LanguageModel
from attnjax.models.transformer_layers import DecoderLayer

TEXT = "To be, or not to be:\nthat is the question.\n" * 20


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return str(path)


def small(corpus: Corpus) -> LanguageModel:
    layer = DecoderLayer(cross_attention=None, feed_forward=FeedForward(width=8))
    model = LanguageModel(width=8, num_layers=1, layer=layer, dropout=0.0)
    return model.with_vocabularies(*corpus.vocabularies.sizes)


def initial(model: LanguageModel):
    """The function that initializes a model, and its arguments."""
    ids = jnp.ones((1, 2), jnp.int32)
    return partial(model.init, deterministic=True), jax.random.key(3), ids, ids


def zeros(model: LanguageModel):
    """Parameters of zeros: every symbol is as probable as any other."""
    shapes = jax.eval_shape(*initial(model))["params"]
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


def measured(model, params, corpus: Corpus) -> dict[str, float]:
    inputs = EvalInputs(model, params, corpus, Batching(max_tokens=64))
    found = Perplexity().after_training(inputs)
    assert all(measurement.better == "lower" for measurement in found)
    return {measurement.key.name: measurement.value for measurement in found}


@pytest.mark.parametrize("stride", [pytest.param(None, marks=pytest.mark.long), 3])
def test_it_is_the_likelihood_of_the_split_by_what_is_counted(file, stride):
    corpus = RawText(file=file, length=7, stride=stride, valid=0, test=0.05).load()
    model = small(corpus)
    init, *arguments = initial(model)
    params = jax.jit(init)(*arguments)["params"]
    call = jax.jit(partial(model.apply, deterministic=True))
    total, symbols = 0.0, 0
    for source, target in ((example.source, example.target) for example in corpus.splits["test"]):
        given = jnp.array([[START, *target[:-1]]])
        logits = call({"params": params}, jnp.array([source]), given)
        logs = np.asarray(jax.nn.log_softmax(logits[0]), np.float64)
        total -= logs[np.arange(len(target)), target].sum()
        symbols += len(target)
    (text,) = corpus.references["test"]
    assert symbols == len(text) == round(0.05 * len(TEXT))
    found = measured(model, params, corpus)
    assert found["perplexity"] == pytest.approx(math.exp(total / symbols), rel=1e-5)
    assert found["word_perplexity"] == pytest.approx(math.exp(total / len(text.split())), rel=1e-5)
    assert found["bits_per_character"] == pytest.approx(math.log2(found["perplexity"]), rel=1e-5)


def test_equal_probabilities_give_the_size_of_the_vocabulary(file):
    corpus = RawText(file=file, length=7, vocabulary=SplitWords(), valid=0).load()
    model = small(corpus)
    params = zeros(model)
    found = measured(model, params, corpus)
    (text,) = corpus.references["test"]
    words = model.vocabulary
    assert found["perplexity"] == pytest.approx(words, rel=1e-5)
    # a symbol is a word here
    assert found["word_perplexity"] == pytest.approx(words, rel=1e-5)
    bits = math.log2(words) * len(text.split()) / len(text)
    assert found["bits_per_character"] == pytest.approx(bits, rel=1e-5)


def test_spaces_that_no_piece_codes_are_no_characters(tmp_path):
    """The same pieces with single spaces and with runs of them: the same bits per character."""
    found = []
    for name, space in (("one", " "), ("many", "     ")):
        lines = [space.join(["", "to", "be", "or", "not", str(n % 7)]) + "\n" for n in range(60)]
        (tmp_path / name).write_text("".join(lines))
        part = SentencePiece(size=20)
        corpus = RawText(file=str(tmp_path / name), length=7, vocabulary=part, valid=0).load()
        model = small(corpus)
        params = zeros(model)
        found.append(measured(model, params, corpus))
    one, many = found
    assert one["perplexity"] == many["perplexity"] == pytest.approx(20, rel=1e-5)
    assert many["bits_per_character"] == pytest.approx(one["bits_per_character"], rel=0.02)


def test_end_is_a_symbol_and_no_word():
    corpus = Copy(symbols=4, shortest=2, longest=4, train=8, valid=2, test=6).load()
    model = small(corpus)
    params = zeros(model)
    words = sum(len(text.split()) for text in corpus.references["test"])
    found = measured(model, params, corpus)
    assert found["perplexity"] == pytest.approx(model.vocabulary, rel=1e-5)
    expected = corpus.vocabularies.target.size ** ((words + 6) / words)
    assert found["word_perplexity"] == pytest.approx(expected, rel=1e-5)


def test_what_has_no_perplexity_is_refused(file):
    corpus = RawText(file=file, length=7, test=0).load()
    with pytest.raises(UserError, match="Perplexity needs a test split"):
        Perplexity().check(small(corpus), corpus)
    corpus = RawText(file=file, length=7).load()
    Perplexity().check(small(corpus), corpus)
    with pytest.raises(UserError, match="predicts words, .*; got KernelRegression"):
        Perplexity().check(KernelRegression(), corpus)
