"""A decoder-only Transformer, which continues a text: GPT's arrangement."""

from dataclasses import field
from typing import Any, Literal, Self

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jaxtyping import Array, Float, Int

from attnjax.attention.heads.carried import Carried
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Padding
from attnjax.attention.position import Learned, Position
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.batch_plan import Packing
from attnjax.data.examples import Examples
from attnjax.data.special_tokens import END, PAD
from attnjax.errors import UserError
from attnjax.models.base import PackingModel, at_base_width, logits, with_bias
from attnjax.models.beam_cache import BeamState, gather, grow_cache
from attnjax.models.feed_forward import FeedForward
from attnjax.models.layer_stack import (
    check_no_cross_attention,
    decode_in_parallel,
    stacked,
    step_layers,
)
from attnjax.models.packed_rows import row_masks, sentence_starts, words_before
from attnjax.models.sequence_model import SequenceModel
from attnjax.models.shapes import Embedded, Features, NextWord, Source, Step, Text, Words
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs
from attnjax.models.transformer_layers import DecoderLayer, Interleaved, PreNorm, Residual
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.initializers import GPTInit, Initializer
from attnjax.nn.length_limit import MaxLength
from attnjax.nn.lift import clone_template


def gpt_layer() -> DecoderLayer:
    """Return a layer of GPT-2: linear maps with biases, a GELU, no attention to another text."""
    return DecoderLayer(
        self_attention=MultiHead(bias=True),
        cross_attention=None,
        feed_forward=FeedForward(activation="gelu_tanh"),
    )


class LanguageModel(SequenceModel, PackingModel):
    """p(target | source), where source and target are one text: x_1 ... x_n y_1 ... y_T.

        h_1 ... h_(n + T - 1) = layers(x_1 ... x_n y_1 ... y_(T - 1))
        p(y_t | x, y_1 ... y_(t - 1)) = softmax(output embedding h_(n + t - 1) + output bias)

    No h depends on later words.

    The source is what comes before the target in a text, a prompt, or a sentence and its END; it
    has at least one word. Its last word predicts the target's first, so the START in the input of
    the decoder is not read. Nothing is predicted of the source itself.

    Dropout is applied to the sum of embedding and position, and to what each sub-layer adds.

    Attributes:
        embeddings: "tied": one table is input and output, as in GPT; "separate": the output has
            one of its own.
        output_bias: whether a bias is added to the logits; GPT has none.
        width: D, of embeddings and layers.
        interleaved: another kind of layer between those that are `layer`; None: there is none.
        input_scale: what embeddings are multiplied by in the input: 1 as in GPT, or sqrt(D) as in
            Vaswani et al. 2017, section 3.4.
        base_width: D_0, the width at which learning rates were tuned: logits are multiplied by
            D_0 / D, and sqrt(D) is sqrt(D_0) instead, see `attnjax.nn.width_transfer`. None: D.

    Source: Radford et al. 2018, section 3.1 (GPT); Radford et al. 2019, section 2.3 (pre-norm);
    `base_width`: Yang et al. 2022, Table 8.
    """

    width: PositiveInt = 512
    num_layers: PositiveInt = 6
    layer: DecoderLayer = field(default_factory=gpt_layer)
    position: Position = field(default_factory=Learned)
    residual: Residual = field(default_factory=PreNorm)
    dropout: DropoutRate = 0.1
    input_scale: Literal["one", "sqrt_width"] = "one"
    initializer: Initializer | None = field(default_factory=GPTInit)
    interleaved: Interleaved | None = None
    base_width: PositiveInt | None = None
    embeddings: Literal["tied", "separate"] = "tied"
    output_bias: bool = False

    one_vocabulary = True

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        check_no_cross_attention("LanguageModel", self.layer, self.interleaved)
        return super().with_vocabularies(source, target)

    @nn.nowrap
    def check_examples(self, examples: Examples, where: str) -> None:
        """Refuse a source that is too long together with its target."""
        limit = self.max_length("source")
        if limit is None:
            return
        lengths = examples.lengths
        read = lengths.sum(1) - 1
        for index in np.flatnonzero(read > limit.words)[:1]:
            source, target = lengths[index]
            raise UserError(
                f"sentence {index + 1} {where} has {source} source and {target} target symbols, of "
                f"which {read[index]} are read; the model reads at most {limit.words} "
                f"({limit.path})"
            )

    @nn.nowrap
    def row_length(self, length: int) -> int:
        """Count source and target, which are one text."""
        return 2 * length - 1

    @nn.nowrap
    def max_words(self, positions: Any) -> Any:
        limit = self.max_length("target")
        return None if limit is None else limit.words + 1 - positions

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Text, decoder_input: Words) -> Attentions:
        """Yield every layer's self-attention over source and target, from below."""
        words = _text(source, decoder_input, self.max_length("source"))
        mask, read = jnp.tril(pairs(words != PAD, jnp.ones_like(words, bool))), (words, words)
        for number in range(self.num_layers):
            yield from layer_attentions(tree, mask, f"layers_{number}", words=read)

    def setup(self) -> None:
        normal = nn.initializers.normal(self.width**-0.5)
        self.embedding = self.param("embedding", normal, (self.vocabulary, self.width))
        self.output_embedding, self.word_bias = self.embedding, None
        if self.embeddings == "separate":
            shape = (self.vocabulary, self.width)
            self.output_embedding = self.param("output_embedding", normal, shape)
        if self.output_bias:
            self.word_bias = self.param("word_bias", nn.initializers.zeros, (self.vocabulary,))
        shared = {"residual": self.residual, "dropout": self.dropout}
        self.layers = stacked(self.layer, self.interleaved, self.num_layers, **shared)
        self.last_residual = clone_template(self.residual)
        self.position_encoding = clone_template(self.position)
        self.drop = Dropout(self.dropout)

    def _embed(self, words: Array, position: Array, *, deterministic: bool) -> Array:
        """Embed words [..., T] at positions that broadcast to them."""
        embedded = lookup(self.embedding, words)
        if self.input_scale == "sqrt_width":
            width = self.base_width or self.width
            embedded = embedded * jnp.asarray(width**0.5, embedded.dtype)
        return self.drop(self.position_encoding(embedded, position), deterministic=deterministic)

    def features(
        self,
        source: Source,
        decoder_input: Words,
        *,
        packing: Packing | None = None,
        deterministic: bool,
    ) -> Features:
        if packing is None:
            words = _text(source, decoder_input, self.max_length("source"))
            hidden = self._read(words, None, deterministic=deterministic)
            return self._output(_predicting(hidden, source, decoder_input))
        words, sentence, predicting = _packed_text(source, decoder_input, packing)
        hidden = self._read(words, sentence, deterministic=deterministic)
        return self._output(jnp.take_along_axis(hidden, predicting[..., None], axis=1))

    def _output(self, hidden: Array) -> Features:
        """Return the factors of the logits of these vectors."""
        if self.word_bias is None:
            return hidden, self.output_embedding
        return with_bias(hidden, self.output_embedding, self.word_bias)

    def _read(self, words: Text, sentence: Text | None, *, deterministic: bool) -> Embedded:
        """Return the vectors of texts; `sentence` numbers the sentences of packed rows."""
        masks = row_masks(words, None if sentence is None else Packing(sentence, sentence))
        # END is read only where the batch has a longer target
        valid = None if deterministic else (words != PAD) & (words != END)
        positions = masks.positions.filled(words[..., None], words[..., None]).query
        x = self._embed(words, positions, deterministic=deterministic)
        options = {"own_mask": masks.target, "positions": masks.positions, "valid": valid}
        options |= {"deterministic": deterministic}
        x = decode_in_parallel(self.layers, x, x, masks.across, **options)
        return at_base_width(self.last_residual.final(x, valid), self.base_width)

    def encode(self, source: Text, *, deterministic: bool) -> tuple[Text, Padding]:
        """Return the source itself, and the mask of its words: `start` reads it."""
        return source, Padding(source != PAD)

    def start(self, memory: Text, mask: Padding, *, length: int, beams: int) -> Any:
        """Read the source but its last word, all at once; the first step reads the last word."""
        position = jnp.arange(memory.shape[1])[None]
        read = position < _count(memory)[:, None] - 1
        last = jnp.take_along_axis(memory, read.sum(-1, keepdims=True), axis=1)
        x = self._embed(memory, position, deterministic=True)
        pasts, carried = [], Carried()
        for layer in self.layers:
            x, past, carried = layer.read(x, read, carried, length=length, beams=beams)
            pasts.append(past)
        return (read, last), *gather(pasts, jnp.zeros((len(memory), beams, length), jnp.int32))

    def grow_cache(self, cache: Any, state: BeamState, *, length: int) -> Any:
        return grow_cache(cache, state, length=length)

    def step(self, constants: Any, cache: Any, state: Any, word: Words, step: Step) -> NextWord:
        read, last = constants
        word = jnp.where(step == 0, last, word)
        # The K words are at one position, not at K positions in a row.
        position = (read.sum(-1) + step)[:, None, None]
        x = self._embed(word[..., None], position, deterministic=True)[..., 0, :]
        sources = ((),) * self.num_layers
        x, cache, state = step_layers(
            self.layers, sources, Padding(read), cache, state, x, step, prompt=read
        )
        hidden = at_base_width(self.last_residual.final(x), self.base_width)
        return logits(*self._output(hidden)), cache, state


def _text(source: Text, decoder_input: Words, limit: MaxLength | None) -> Int[Array, "B J"]:
    """Join source and target to one text without a gap: PAD is at its end alone.

    J is S + T - 1, or the number of the model's positions if that is less.
    """
    (_, S), T = source.shape, decoder_input.shape[1]
    words = jnp.concatenate([source, decoder_input[:, 1:]], axis=1)
    if S == 1:
        return words
    count, position = _count(source)[:, None], jnp.arange(S + T - 1)[None]
    index = jnp.where(position < count, position, position - count + S)
    words = jnp.take_along_axis(words, index, axis=1, mode="fill", fill_value=PAD)
    # a short source may be in the batch of a long one, and be followed by a long target
    if limit is None or max(S, T) > limit.words:
        return words
    return words[:, : limit.words]


def _packed_text(source: Text, decoder_input: Words, packing: Packing) -> tuple[Array, ...]:
    """Join the texts of packed rows, each source followed by its own target, without the STARTs.

    Returns the words, [B, S + T - 1], the number of each position's sentence, and for each word of
    the target the position whose vector predicts it, [B, T].
    """
    (rows, S), T = source.shape, decoder_input.shape[1]
    J, row = S + T - 1, jnp.arange(rows)[:, None]
    sources, targets = source != PAD, decoder_input != PAD
    # all words of a target but its last are read: as many as its inputs without START
    own = targets & ~sentence_starts(packing.target)
    inputs = words_before(packing.target, own)
    read = words_before(packing.source, sources)
    position = jnp.arange(S)[None] + jnp.take_along_axis(inputs, packing.source, axis=1)
    # the last word of a source is where its target's START would be
    after_source = jnp.take_along_axis(read, jnp.minimum(packing.target + 1, S), axis=1)
    predicting = jnp.minimum(jnp.arange(T)[None] - packing.target - 1 + after_source, J - 1)

    def place(of_source: Array, of_target: Array, filler: int) -> Array:
        """Put [B, S] and [B, T] at their positions in the text; J is outside of it."""
        text = jnp.full((rows, J), filler, jnp.int32)
        text = text.at[row, jnp.where(sources, position, J)].set(of_source, mode="drop")
        return text.at[row, jnp.where(own, predicting, J)].set(of_target, mode="drop")

    sentence = place(packing.source, packing.target, S)
    return place(source, decoder_input, PAD), sentence, predicting


def _count(words: Text) -> Int[Array, " B"]:
    """Count the words of each row."""
    return (words != PAD).sum(-1)


def _predicting(hidden: Array, source: Text, decoder_input: Words) -> Float[Array, "B T D"]:
    """Select the vectors that predict the target, of those of the text [B, J, D]."""
    (_, S), T = source.shape, decoder_input.shape[1]
    if S == 1:
        return hidden
    hidden = jnp.pad(hidden, ((0, 0), (0, S + T - 1 - hidden.shape[1]), (0, 0)))
    rows = jax.vmap(lambda row, first: jax.lax.dynamic_slice_in_dim(row, first, T))
    return rows(hidden, _count(source) - 1)
