"""The loss on longer windows is that of a text that is cut into such windows."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention import Learned
from attnjax.data.batching import Batching
from attnjax.data.corpora.raw_text import RawText
from attnjax.data.generated.sequences import Copy
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.longer_windows import LongerWindows
from attnjax.evaluation.measures.perplexity import Perplexity
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.transformer_layers import DecoderLayer


@pytest.fixture
def task(tmp_path) -> RawText:
    path = tmp_path / "text.txt"
    path.write_text("To be, or not to be:\nthat is the question.\n" * 12)
    return RawText(file=str(path), length=5, valid=0, test=0.1)


def small(**fields) -> LanguageModel:
    layer = DecoderLayer(cross_attention=None, feed_forward=FeedForward(width=8))
    return LanguageModel(width=8, num_layers=1, layer=layer, dropout=0.0, **fields)


def test_it_is_the_loss_of_the_text_in_windows_of_each_length(task):
    corpus = task.load()
    model = small().with_vocabularies(*corpus.vocabularies.sizes)
    ids = jnp.ones((1, 2), jnp.int32)
    init = jax.jit(partial(model.init, deterministic=True))
    params = init(jax.random.key(3), ids, ids)["params"]
    inputs = EvalInputs(model, params, corpus, Batching(max_tokens=64))
    measure = LongerWindows(lengths=(5, 8, 12))
    measure.check(model, corpus)
    found = {item.key.name: item.value for item in measure.after_training(inputs)}
    assert [*found] == [key.name for key in measure.keys(None)]
    bits, ratios = [f"bits_at_{n}" for n in (5, 8, 12)], [f"loss_ratio_at_{n}" for n in (8, 12)]
    assert [*found] == bits + ratios
    for length in (5, 8, 12):
        cut = RawText(file=task.file, length=length, valid=0, test=0.1).load(corpus.vocabularies)
        other = Perplexity().after_training(inputs._replace(corpus=cut))
        assert found[f"bits_at_{length}"] == pytest.approx(math.log2(other[0].value), rel=1e-5)
    assert len({found[name] for name in bits}) == 3
    for length in (8, 12):  # to the length of training, not to the one before
        ratio = found[f"bits_at_{length}"] / found["bits_at_5"]
        assert found[f"loss_ratio_at_{length}"] == pytest.approx(ratio, rel=1e-6)


@pytest.mark.parametrize("lengths", [(8, 8), (8, 4)])
def test_lengths_grow(lengths):
    with pytest.raises(UserError, match="are growing, that of training first; got"):
        LongerWindows(lengths=lengths)


def test_what_it_cannot_read_is_refused(task):
    corpus = task.load()
    model = small(position=Learned(max_length=10)).with_vocabularies(*corpus.vocabularies.sizes)
    LongerWindows(lengths=(5, 9)).check(model, corpus)
    with pytest.raises(UserError, match=r"test windows has 12 symbols .* takes at most"):
        LongerWindows(lengths=(5, 12)).check(model, corpus)
    sentences = Copy(train=8, valid=2, test=4).load()
    with pytest.raises(UserError, match="reads a text in windows, each after one symbol"):
        LongerWindows().check(model, sentences)
