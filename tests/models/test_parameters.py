"""Templates make their own parameters: counts against the formula, in every layer count."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.position import Learned
from attnjax.attention.score.base import Additive, ScaledDot
from attnjax.config.vary import vary
from attnjax.models.feed_forward import (
    ConvolutionFeedForward,
    FeedForward,
    GatedFeedForward,
    NoFeedForward,
)
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
    PostNorm,
    PreNorm,
)
from attnjax.nn.norm import NoNorm, RMSNorm
from tests.models.small import HEADS, HIDDEN, VOCABULARY, WIDTH, small

WORDS = jax.ShapeDtypeStruct((1, 2), jnp.int32)


def count(model: Transformer) -> int:
    """How many numbers its parameters hold; nothing is computed."""
    shapes = jax.eval_shape(
        lambda key, source, given: model.init(
            key, source, given, deterministic=True, mutable=["params"]
        ),
        jax.random.key(0),
        WORDS,
        WORDS,
    )
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(shapes))


def formula(V: int, D: int, F: int, layers: int, score: int = 0) -> int:
    """Embedding, attention matrices, feed-forward networks, normalizations; no attention biases."""
    attention, network, norm = 4 * D * D + score, 2 * D * F + F + D, 2 * D
    encoder, decoder = attention + network + 2 * norm, 2 * attention + network + 3 * norm
    return V * D + layers * (encoder + decoder)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    "score, residual",
    [(ScaledDot(), PostNorm()), (Additive(width=3), PreNorm())],
    ids=["scaled-post-norm", "additive-pre-norm"],
)
def test_every_layer_has_its_own(layers, residual, score):
    head = WIDTH // HEADS
    own = HEADS * (2 * head * 3 + 3) if isinstance(score, Additive) else 0
    # Pre-norm has one normalization more at the end of each stack; positions are stored once.
    ends = 2 * 2 * WIDTH if isinstance(residual, PreNorm) else 0
    found = count(small(score, Learned(max_length=9), residual, layers=layers))
    assert found == formula(VOCABULARY, WIDTH, HIDDEN, layers, own) + ends + 9 * WIDTH


@pytest.mark.parametrize(
    "network, numbers",
    [
        (FeedForward(width=HIDDEN), 2 * WIDTH * HIDDEN + HIDDEN + WIDTH),
        (ConvolutionFeedForward(width=HIDDEN), 2 * WIDTH * HIDDEN + HIDDEN + WIDTH),
        (GatedFeedForward(width=HIDDEN), 3 * WIDTH * HIDDEN),
        (NoFeedForward(), 0),
    ],
    ids=lambda part: type(part).__name__,
)
def test_every_layer_has_its_own_feed_forward_network(network, numbers):
    plain = 2 * WIDTH * HIDDEN + HIDDEN + WIDTH
    for layers in (1, 2, 3):
        model = vary(small(layers=layers), {"**.feed_forward": network})
        others = formula(VOCABULARY, WIDTH, HIDDEN, layers) - 2 * layers * plain
        assert count(model) == others + 2 * layers * numbers


@pytest.mark.parametrize("norm, numbers", [(RMSNorm(), WIDTH), (NoNorm(), 0)])
def test_every_sub_layer_has_its_own_norm(norm, numbers):
    for layers in (1, 2, 3):
        norms = layers * (2 + 3)
        found = count(small(residual=PostNorm(norm=norm), layers=layers))
        others = formula(VOCABULARY, WIDTH, HIDDEN, layers) - norms * 2 * WIDTH
        assert found == others + norms * numbers


def test_each_embedding_that_is_not_shared_is_a_table_more():
    sides = small(layers=1).clone(source_vocabulary=7)
    for embeddings, words in {
        "shared": VOCABULARY,
        "tied": 7 + VOCABULARY,
        "separate": 7 + 2 * VOCABULARY,
    }.items():
        model = vary(sides, {"embeddings": embeddings})
        assert count(model) == formula(words, WIDTH, HIDDEN, 1)


def test_base_and_big_have_the_papers_size():
    # Vaswani et al. 2017, Table 3, with 37,000 rows shared by source, target and output.
    base = Transformer(vocabulary=37_000)
    assert count(base) == formula(37_000, 512, 2048, 6) == 63_045_632
    attention, network = MultiHead(heads=16), FeedForward(width=4096)
    big = base.clone(
        width=1024,
        encoder_layer=EncoderLayer(self_attention=attention, feed_forward=network),
        decoder_layer=DecoderLayer(
            self_attention=attention, cross_attention=attention, feed_forward=network
        ),
    )
    assert count(big) == formula(37_000, 1024, 4096, 6) == 214_171_648
