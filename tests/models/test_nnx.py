"""Flax NNX's bridge takes our parts, with their default parts too, and computes the same."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Padding
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import EncoderLayer, PostNorm
from tests import jitted

X = np.random.default_rng(0).normal(size=(2, 3, 16)).astype(np.float32)
MASK = Padding(np.array([[True, True, True], [True, True, False]]))
WORDS = np.array([[4, 5, 6], [7, 8, 0]])


@pytest.mark.parametrize(
    "module, inputs",
    [
        (MultiHead(), (X, X, X, MASK)),
        (EncoderLayer(residual=PostNorm(), dropout=0.0), (X, MASK)),
        (
            Transformer(vocabulary=9, width=16, num_encoder_layers=1, num_decoder_layers=1),
            (WORDS, WORDS),
        ),
        pytest.param(
            Seq2Seq(source_vocabulary=9, vocabulary=9, width=4, encoder=Encoder(width=256)),
            (WORDS, WORDS),
            marks=pytest.mark.long,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_bridge_computes_what_the_module_does(module, inputs):
    # the stream "params" of the bridge is folded: the parameters are read back, not compared
    @nnx.jit
    def begin(*inputs):
        bridged = nnx.bridge.ToNNX(module, rngs=nnx.Rngs(0))
        return bridged.lazy_init(*inputs, deterministic=True)

    bridged = begin(*inputs)
    found = nnx.jit(partial(type(bridged).__call__, deterministic=True))(bridged, *inputs)
    params = nnx.to_pure_dict(nnx.state(bridged, nnx.Param))
    expected = jitted.apply(module, {"params": params}, *inputs, deterministic=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    own = jitted.drawn(module, *inputs, deterministic=True)["params"]
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(jnp.shape, own)
