"""The encoder of BERT: words, segments and positions, through layers of self-attention."""

from dataclasses import field
from typing import Annotated, Any

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Padding
from attnjax.attention.position import Learned, Position
from attnjax.config.constraints import DropoutRate, PositiveInt, SetByOwner
from attnjax.data.special_tokens import END, PAD, START
from attnjax.data.vocabularies import Side
from attnjax.models.base import SymbolModel, with_bias
from attnjax.models.feed_forward import FeedForward
from attnjax.models.sequence_model import LabelModel
from attnjax.models.shapes import Features, Source, Text, Words
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs
from attnjax.models.transformer_layers import EncoderLayer, PostNorm, Residual
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.length_limit import MaxLength
from attnjax.nn.lift import clone_template, inherit, inherited
from attnjax.nn.norm import LayerNorm, Norm

EPSILON = 1e-12
"""The epsilon of every layer norm, in the authors' program."""


def bert_layer(heads: int, width: int, dropout: float = 0.1) -> EncoderLayer:
    """Return a layer of BERT: biases in every linear map, exact GELU, dropout on the weights.

    The width is F, of the feed-forward network.
    """
    return EncoderLayer(
        self_attention=MultiHead(head=Attention(dropout=dropout), heads=heads, bias=True),
        feed_forward=FeedForward(width=width, activation="gelu"),
    )


def segments_of(source: Words) -> Words:
    """Count the ENDs before each position: 0 in the first sentence, 1 in the second."""
    ends = (source == END).astype(jnp.int32)
    return jnp.cumsum(ends, axis=1) - ends


class BertEncoder(nn.Module):
    """START and a source, each word the sum of three embeddings, through layers of self-attention.

        x_t = dropout(norm(word_t + segment_t + position_t))

    START stands for [CLS], END for [SEP]: a source is `a b c END`, or `a b c END d e END` of two
    sentences, which are segment 0 and 1. The last row of the words' embedding is MASK's. The
    default is BERT-base.

    Attributes:
        vocabulary: the number of words, MASK not counted.
        segments: their number; sentences after the last one count as the last one.
        norm: of the sum of the embeddings.
        dropout: on the embeddings and on what each sub-layer adds.

    Source: Devlin et al. 2019, section 3 and Figure 2; the order of norm and dropout, and the
        epsilon, are those of the authors' program, github.com/google-research/bert.
    """

    vocabulary: Annotated[PositiveInt | None, SetByOwner()] = None
    width: PositiveInt = 768
    num_layers: PositiveInt = 12
    layer: EncoderLayer = field(default_factory=lambda: bert_layer(heads=12, width=3072))
    position: Position = field(default_factory=Learned)
    segments: PositiveInt = 2
    norm: Norm = field(default_factory=lambda: LayerNorm(epsilon=EPSILON))
    residual: Residual = field(default_factory=lambda: PostNorm(norm=LayerNorm(epsilon=EPSILON)))
    dropout: DropoutRate = 0.1

    def setup(self) -> None:
        normal = nn.initializers.normal(self.width**-0.5)
        words = inherited(self, "vocabulary") + 1
        self.embedding = self.param("embedding", normal, (words, self.width))
        self.segment = self.param("segment", normal, (self.segments, self.width))
        shared = {"residual": self.residual, "dropout": self.dropout}
        self.layers = [inherit(self.layer, **shared) for _ in range(self.num_layers)]
        self.last_residual = clone_template(self.residual)
        self.drop = Dropout(self.dropout)

    def __call__(self, source: Text, *, deterministic: bool) -> Float[Array, "B 1+S D"]:
        """Return the states of START and of the source's words."""
        words = jnp.pad(source, ((0, 0), (1, 0)), constant_values=START)
        present = words != PAD
        valid = None if deterministic else present & (source != PAD).any(1, keepdims=True)
        segment = jnp.minimum(segments_of(words), self.segments - 1)
        x = lookup(self.embedding, words) + lookup(self.segment, segment)
        x = self.position(x, jnp.arange(words.shape[1])[None])
        x = self.drop(self.norm(x, valid), deterministic=deterministic)
        for layer in self.layers:
            x = layer(x, Padding(present), valid=valid, deterministic=deterministic)
        return self.last_residual.final(x, valid)


class BertModel(SymbolModel):
    """A BERT encoder below a head; heads on the same encoder have its parameters at one path."""

    limited = ("source",)

    source_vocabulary: PositiveInt | None = None
    bert: BertEncoder = field(default_factory=BertEncoder)

    @nn.nowrap
    def max_length(self, side: Side) -> MaxLength | None:
        """Subtract the position that START takes."""
        limit = super().max_length(side)
        return None if limit is None else limit._replace(words=limit.words - 1)

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Source, decoder_input: Words) -> Attentions:
        """Yield the self-attention of every layer, from below; START is the first position."""
        words = jnp.pad(source, ((0, 0), (1, 0)), constant_values=START)
        mask, label = pairs(words != PAD, words != PAD), isinstance(self, LabelModel)
        for number in range(self.bert.num_layers):
            yield from layer_attentions(
                tree, mask, "encoder", f"layers_{number}", words=(words, words), to_source=label
            )

    def setup(self) -> None:
        self.encoder = clone_template(self.bert, vocabulary=self.source_vocabulary)


class LabelHead(nn.Module):
    """The factors of the logits of V labels, hidden W^T + b."""

    vocabulary: PositiveInt | None

    @nn.compact
    def __call__(self, hidden: Float[Array, "B T _"]) -> Features:
        shape = (self.vocabulary, hidden.shape[-1])
        table = self.param("kernel", nn.initializers.glorot_uniform(), shape)
        return with_bias(hidden, table, self.param("bias", nn.initializers.zeros, shape[:1]))
