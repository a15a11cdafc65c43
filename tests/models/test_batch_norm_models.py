"""A batch norm in a model: its running moments move, and padding and filler rows count nowhere.

Of a Transformer that is tested in test_transformer_layers.py.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import traverse_util

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.position import Learned
from attnjax.data.special_tokens import END, PAD, START
from attnjax.models.bert import BertEncoder
from attnjax.models.bert_heads import BertClassifier
from attnjax.models.classifier import Classifier
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.self_attention_encoder import SelfAttentionEncoder
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, PreNorm
from attnjax.nn.norm import BatchNorm

HEADS, NETWORK = MultiHead(heads=2), FeedForward(width=5)
ENCODER_LAYER = EncoderLayer(self_attention=HEADS, feed_forward=NETWORK)
RESIDUAL = PreNorm(norm=BatchNorm())
RUNNING = ("running_mean", "running_variance")
MODELS = {
    "language model": LanguageModel(
        vocabulary=12,
        width=8,
        num_layers=1,
        layer=DecoderLayer(self_attention=HEADS, cross_attention=None, feed_forward=NETWORK),
        residual=RESIDUAL,
        dropout=0.0,
    ),
    "bert": BertClassifier(
        dropout=0.0,
        vocabulary=12,
        source_vocabulary=12,
        bert=BertEncoder(
            width=8,
            num_layers=1,
            layer=ENCODER_LAYER,
            position=Learned(max_length=9),
            norm=BatchNorm(),
            residual=RESIDUAL,
            dropout=0.0,
        ),
    ),
    "classifier": Classifier(
        vocabulary=12,
        source_vocabulary=12,
        width=8,
        encoder=SelfAttentionEncoder(num_layers=1, layer=ENCODER_LAYER, residual=RESIDUAL),
        dropout=0.0,
    ),
}
SOURCE = np.array([[4, 5, 6, 7, END], [8, 9, END, PAD, PAD]])
GIVEN = np.array([[START, 10, 4, 11], [START, 9, END, PAD]])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "language model" else pytest.mark.long)
        for name in MODELS
    ],
)
def test_running_moments_move_and_padding_counts_nowhere(name, float64):
    model = MODELS[name]
    given = GIVEN[:, :1] if model.predicts_label else GIVEN
    init = partial(model.init, deterministic=True, mutable=["params"])
    params = jax.jit(init)(jax.random.key(0), SOURCE, given)["params"]

    def step(source, given):
        def loss(params):
            logits = model.apply({"params": params}, source, given, deterministic=False)
            predicts = (given != PAD) & (given != END) & (source != PAD).any(1, keepdims=True)
            return jnp.where(predicts[..., None], jnp.sin(logits), 0).sum()

        return jax.grad(loss)(params)

    expected = jax.jit(step)(SOURCE, given)
    running = [
        gradient
        for path, gradient in jax.tree_util.tree_leaves_with_path(expected)
        if path[-1].key in RUNNING
    ]
    assert len(running) >= 2 * 2
    assert all((gradient != 0).any() for gradient in running)
    more = 0 if model.predicts_label else 1
    source, given = np.pad(SOURCE, ((0, 1), (0, 2))), np.pad(given, ((0, 1), (0, more)))
    given[2, 0] = START
    found = jax.jit(step)(source, given)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=0, atol=1e-10), found, expected)


def test_the_end_of_a_text_counts_nowhere_in_a_language_model(float64):
    """It is read only where a longer text stands in the same batch."""
    model, source = MODELS["language model"], np.array([[8, 9, 10]])
    init = partial(model.init, deterministic=True, mutable=["params"])
    params = jax.jit(init)(jax.random.key(0), source, source)["params"]

    @jax.jit
    def moved(given):
        call = partial(model.apply, deterministic=False)
        slopes = jax.grad(lambda params: call({"params": params}, source, given).sum())(params)
        flat = traverse_util.flatten_dict(slopes)
        return {path: slope for path, slope in flat.items() if path[-1] in RUNNING}

    alone = moved(np.array([[START, 9, 4]]))
    beside = moved(np.array([[START, 9, 4, END, PAD]]))
    assert all((step != 0).any() for step in alone.values())
    jax.tree.map(partial(np.testing.assert_allclose, rtol=0, atol=1e-10), beside, alone)
