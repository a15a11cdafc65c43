"""Sinks: the weights on the first word, summed up by loops, and models that show none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.open import ReLU
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.state.linear import LinearAttention
from attnjax.config.vary import vary
from attnjax.data.batching import Batching
from attnjax.data.generated.induction import InductionHead
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.measures.sinks import Sinks
from attnjax.models.feed_forward import NoFeedForward
from attnjax.models.labeler import Labeler
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer
from tests import jitted

HEAD = "layer.self_attention.head"


@pytest.fixture(scope="module")
def inputs() -> EvalInputs:
    task = InductionHead(symbols=5, shortest=4, longest=7, train=8, valid=4, test=9)
    corpus = task.load()
    model = Labeler(
        width=8,
        num_layers=2,
        layer=DecoderLayer(
            self_attention=MultiHead(heads=2, head=Attention(align=ReLU())),
            cross_attention=None,
            feed_forward=NoFeedForward(),
        ),
        initializer=None,
    ).with_vocabularies(*corpus.vocabularies.sizes)
    read = source(corpus, 1), asked(corpus, 1)
    params = jitted.init(model, jax.random.key(0), *read, deterministic=True)
    return EvalInputs(model, params["params"], corpus, Batching(batch_size_multiple=4))


def source(corpus, count: int):
    rows = corpus.splits["test"].source
    return jnp.asarray(rows.padded(np.arange(count), (count, 7)))


def asked(corpus, count: int):
    return jnp.asarray(corpus.splits["test"].target.padded(np.arange(count), (count, 1)))


def test_it_sums_the_weights_on_the_first_word(inputs):
    count = 6
    read = source(inputs.corpus, count), asked(inputs.corpus, count)

    @jax.jit
    def look(params):
        return [attention.weights for attention in inputs.model.attentions(params, *read)]

    shown = jax.device_get(look(inputs.params))
    assert [weights.shape for weights in shown] == [(count, 2, 7, 7)] * 2
    first = total = rows = 0.0
    for weights in shown:
        for index, example in enumerate(inputs.corpus.splits["test"][:count]):
            places = set(range(1, len(example.source))) - {*example.target[:, 0]}
            assert len(places) == len(example.source) - 2
            for place in places:
                first += weights[index, :, place, 0].sum()
                total += weights[index, :, place].sum()
                rows += 2
    assert 0 < first < total
    measured = {one.key.name: one.value for one in Sinks(examples=count).after_training(inputs)}
    assert measured == pytest.approx(
        {"sink_weight": first / rows, "sink_share": first / total}, rel=1e-5
    )


def test_a_model_that_shows_no_weights_is_refused(inputs):
    linear = vary(inputs.model, {HEAD: LinearAttention()})
    with pytest.raises(UserError, match="shows its weights; got a Labeler without one"):
        Sinks().check(linear, inputs.corpus)
    with pytest.raises(UserError, match="got a Transformer$"):
        Sinks().check(Transformer(), inputs.corpus)
    Sinks().check(inputs.model, inputs.corpus)
