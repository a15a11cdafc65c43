"""A small Transformer, untrained, on sequences whose alignment is known."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention.heads.multihead import MultiHead
from attnjax.data.batching import Batching
from attnjax.data.generated.sequences import Reverse
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.models.feed_forward import FeedForward
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer


@pytest.fixture(scope="session")
def inputs() -> EvalInputs:
    # few lengths: each is a program where a sentence is looked at alone
    corpus = Reverse(symbols=5, shortest=2, longest=4, train=20, valid=2, test=12).load()
    heads, feed_forward = MultiHead(heads=2), FeedForward(width=8)
    model = Transformer(
        vocabulary=corpus.vocabularies.target.size,
        width=8,
        num_encoder_layers=1,
        num_decoder_layers=2,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
    )
    ids = jnp.ones((1, 3), jnp.int32)
    init = partial(model.init, deterministic=True, mutable=["params"])
    variables = jax.jit(init)(jax.random.key(0), ids, ids)
    return EvalInputs(
        model, variables["params"], corpus, Batching(max_tokens=64, batch_size_multiple=2)
    )
