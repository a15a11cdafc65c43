"""Templates make their own parameters: counts against the formula, in every layer count."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.attention.multihead import MultiHead
from attnjax.attention.position import Learned
from attnjax.attention.score import Additive, ScaledDot, Score
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
)
from attnjax.nn.lift import clone_template, vmap_heads
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
    """Embedding, attention matrices, feed-forward networks, normalisations; no attention biases."""
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
    # Pre-norm has one normalisation more at the end of each stack; positions are stored once.
    ends = 2 * 2 * WIDTH if isinstance(residual, PreNorm) else 0
    found = count(small(score, Learned(max_length=9), residual, layers=layers))
    assert found == formula(VOCABULARY, WIDTH, HIDDEN, layers, own) + ends + 9 * WIDTH


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


class Watched(Score):
    """A score with parameters, a key and something to show for each head."""

    @nn.compact
    def __call__(self, query, key):
        self.sow("objective", "seen", jnp.ones(len(query)))
        noise = jax.random.normal(self.make_rng("sample"))
        return self.param("bias", nn.initializers.zeros, ()) + noise + query @ key.mT


def test_heads_keep_every_collection_and_every_stream_of_keys():
    class Heads(nn.Module):
        score: Score

        def __call__(self, x):
            return vmap_heads(lambda score, x: score(x, x), 0, 0)(self.score, x)

    x = jnp.ones((3, 2, 4))
    keys = {"params": jax.random.key(0), "sample": jax.random.key(1)}
    logits, variables = Heads(Watched()).init_with_output(keys, x)
    assert variables["params"]["score"]["bias"].shape == (3,)
    assert variables["objective"]["score"]["seen"][0].shape == (2, 3)
    assert len(set(np.asarray(logits[:, 0, 0]).tolist())) == 3


def test_fresh_copies_what_is_inside_and_changes_only_what_is_asked():
    template = MultiHead(heads=4)
    copy = clone_template(template, heads=2)
    assert copy == MultiHead(heads=2)
    assert copy.head is not template.head
    assert copy.head.score is not template.head.score
    assert template.heads == 4
    assert clone_template(3) == 3
