"""A decoder-only Transformer, which continues a text: GPT's arrangement."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any, ClassVar, Literal, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from attnjax.attention.mask import Padding
from attnjax.attention.multihead import MultiHead
from attnjax.attention.position import Learned, Position
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.data.examples import Examples
from attnjax.data.packing import Packing
from attnjax.data.special_tokens import END, PAD
from attnjax.errors import UserError
from attnjax.models.base import PackingModel, logits
from attnjax.models.beam_cache import (
    BeamState,
    after_prompt,
    append_self,
    beam_cache,
    gather,
    grow_cache,
    layer_memories,
)
from attnjax.models.feed_forward import FeedForward
from attnjax.models.packed_rows import first_places, row_masks, words_before
from attnjax.models.sequence_model import SequenceModel
from attnjax.models.sown_attention import LayerAttention, layer_attentions
from attnjax.models.transformer_layers import DecoderLayer, PreNorm, Residual
from attnjax.nn.dropout import Dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.initializers import GPTInit, Initializer
from attnjax.nn.length_limit import MaxLength
from attnjax.nn.lift import clone_template, inherit


def gpt_layer() -> DecoderLayer:
    """A layer of GPT-2: linear maps with biases, a GELU, no attention to another text."""
    return DecoderLayer(
        self_attention=MultiHead(bias=True),
        cross_attention=None,
        feed_forward=FeedForward(activation="gelu_tanh"),
    )


class LanguageModel(SequenceModel, PackingModel):
    """p(target | source), where source and target are one text: x_1 ... x_n y_1 ... y_T.

        h_1 ... h_(n + T - 1) = layers(x_1 ... x_n y_1 ... y_(T - 1))
        p(y_t | x, y_1 ... y_(t - 1)) = softmax(embedding h_(n + t - 1))

    No h depends on later words.

    The source is what stands before the target in a text, a prompt, or a sentence and its END; it
    has at least one word. Its last word predicts the target's first, so the START in the input of
    the decoder is not read. Nothing is predicted of the source itself.

    One embedding is input and output. Dropout falls on the sum of embedding and position, and on
    what each sub-layer adds.

    Attributes:
        width: D, of embeddings and layers.
        layer: the template of one layer, without cross-attention.
        position: added to the embeddings.
        residual: where the norm stands.
        input_scale: what embeddings are multiplied by in the input: 1 as in GPT, or sqrt(D) as in
            Vaswani et al. 2017, section 3.4.

    Source: Radford et al. 2018, section 3.1 (GPT); Radford et al. 2019, section 2.3 (pre-norm).
    """

    width: PositiveInt = 512
    num_layers: PositiveInt = 6
    layer: DecoderLayer = field(default_factory=gpt_layer)
    position: Position = field(default_factory=Learned)
    residual: Residual = field(default_factory=PreNorm)
    dropout: DropoutRate = 0.1
    input_scale: Literal["one", "sqrt_width"] = "one"
    initializer: Initializer | None = field(default_factory=GPTInit)

    in_older_records: ClassVar = {"input_scale": "sqrt_width"}

    @property
    def one_vocabulary(self) -> bool:
        return True

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        if self.layer.cross_attention is not None:
            raise UserError(
                "a LanguageModel has no other text to attend to: model.layer.cross_attention:none"
            )
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
    def places(self, length: int) -> int:
        """Source and target stand in one text."""
        return 2 * length - 1

    @nn.nowrap
    def max_words(self, places: Any) -> Any:
        limit = self.max_length("target")
        return None if limit is None else limit.words + 1 - places

    @nn.nowrap
    def attentions_in(
        self, tree: Any, source: jax.Array, decoder_input: jax.Array
    ) -> Iterator[LayerAttention]:
        """Every layer's self-attention over source and target, from below."""
        words = _text(source, decoder_input, self.max_length("source"))
        causal = jnp.tril(jnp.ones((words.shape[1],) * 2, bool))
        mask = (words != PAD)[:, None, :, None] & causal[None, None]
        for number in range(self.num_layers):
            yield from layer_attentions(tree, mask, f"layers_{number}", words=(words, words))

    def setup(self) -> None:
        normal = nn.initializers.normal(self.width**-0.5)
        self.embedding = self.param("embedding", normal, (self.vocabulary, self.width))
        shared = {"residual": self.residual, "dropout": self.dropout}
        self.layers = [inherit(self.layer, **shared) for _ in range(self.num_layers)]
        self.last_residual = clone_template(self.residual)
        self.where = clone_template(self.position)
        self.drop = Dropout(self.dropout)

    def _embed(self, words: jax.Array, position: jax.Array, *, deterministic: bool) -> jax.Array:
        """Words [B, T] at positions [1 or B, T] -> [B, T, D]."""
        embedded = lookup(self.embedding, words)
        if self.input_scale == "sqrt_width":
            embedded = embedded * jnp.asarray(self.width**0.5, embedded.dtype)
        return self.drop(self.where(embedded, position), deterministic=deterministic)

    def features(
        self,
        source: jax.Array,
        decoder_input: jax.Array,
        *,
        packing: Packing | None = None,
        deterministic: bool,
    ) -> tuple[jax.Array, jax.Array]:
        if packing is None:
            words = _text(source, decoder_input, self.max_length("source"))
            hidden = self._read(words, None, deterministic=deterministic)
            return _predicting(hidden, source, decoder_input), self.embedding
        text = _packed_text(source, decoder_input, packing)
        hidden = self._read(text.words, text.sentence, deterministic=deterministic)
        return jnp.take_along_axis(hidden, text.predicting[..., None], axis=1), self.embedding

    def _read(
        self, words: jax.Array, sentence: jax.Array | None, *, deterministic: bool
    ) -> jax.Array:
        """Texts [B, J] -> their vectors [B, J, D]; `sentence` [B, J]: see `PackedText`."""
        masks = row_masks(words, None if sentence is None else Packing(sentence, sentence))
        # END is read only where the batch has a longer target
        counted = None if deterministic else (words != PAD) & (words != END)
        where = masks.positions.filled(words[..., None], words[..., None]).query
        x = self._embed(words, where, deterministic=deterministic)
        options = {"own_mask": masks.target, "positions": masks.positions, "counted": counted}
        for layer in self.layers:
            x = layer(x, x, masks.across, **options, deterministic=deterministic)
        return self.last_residual.final(x, counted)

    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[jax.Array, Padding]:
        """The source itself, and the mask of its words: `start` reads it."""
        return source, Padding(source != PAD)

    def start(
        self, memory: jax.Array, mask: Padding, *, length: int, beams: int
    ) -> tuple[Any, Any, BeamState]:
        """Read the source but its last word, all at once; the first step reads the last word."""
        read = jnp.arange(memory.shape[1])[None] < _count(memory)[:, None] - 1
        last = jnp.take_along_axis(memory, read.sum(-1, keepdims=True), axis=1)
        x = self._embed(memory, jnp.arange(memory.shape[1])[None], deterministic=True)
        pasts = []
        for layer in self.layers:
            x, past = layer.read(x, read, length=length, beams=beams)
            pasts.append(past)
        return (read, last), *gather(pasts, jnp.zeros((len(memory), beams, length), jnp.int32))

    def grow_cache(self, cache: Any, state: BeamState, *, length: int) -> tuple[Any, BeamState]:
        return grow_cache(cache, state, length=length)

    def step(
        self, constants: Any, cache: Any, state: BeamState, word: jax.Array, step: jax.Array
    ) -> tuple[jax.Array, Any, BeamState]:
        read, last = constants
        word = jnp.where(step == 0, last, word)
        # The K words stand at one position, not at K positions in a row.
        position = (read.sum(-1) + step)[:, None, None]
        x = self._embed(word[..., None], position, deterministic=True)[..., 0, :]
        back_pointers = append_self(state.back_pointers, step)
        beams = after_prompt(beam_cache(back_pointers, step), read)
        pasts = layer_memories(cache, state)
        for number, layer in enumerate(self.layers):
            x, pasts[number] = layer.step(x, pasts[number], beams, (), Padding(read))
        hidden = self.last_residual.final(x)
        return logits(hidden, self.embedding), *gather(pasts, back_pointers)


def _text(source: jax.Array, decoder_input: jax.Array, limit: MaxLength | None) -> jax.Array:
    """Source [B, S] and target as one text without a gap, [B, J]: PAD stands at its end alone.

    J is S + T - 1, or the number of the model's positions if that is less.
    """
    (_, S), T = source.shape, decoder_input.shape[1]
    words = jnp.concatenate([source, decoder_input[:, 1:]], axis=1)
    if S == 1:
        return words
    count, place = _count(source)[:, None], jnp.arange(S + T - 1)[None]
    index = jnp.where(place < count, place, place - count + S)
    words = jnp.take_along_axis(words, index, axis=1, mode="fill", fill_value=PAD)
    # a short source may stand in the batch of a long one, and be followed by a long target
    if limit is None or max(S, T) > limit.words:
        return words
    return words[:, : limit.words]


class PackedText(NamedTuple):
    """Sources and targets of packed rows, each source with its own target behind it.

    Attributes:
        words: [B, J], J = S + T - 1.
        sentence: the number of the sentence of each place, [B, J].
        predicting: the place whose vector predicts each word of the target, [B, T].
    """

    words: jax.Array
    sentence: jax.Array
    predicting: jax.Array


def _packed_text(source: jax.Array, decoder_input: jax.Array, packing: Packing) -> PackedText:
    """The text x y of each sentence, one behind the other; the STARTs are left out."""
    (rows, S), T = source.shape, decoder_input.shape[1]
    J, row = S + T - 1, jnp.arange(rows)[:, None]
    sources, targets = source != PAD, decoder_input != PAD
    # the words of a target but its last are read; so many are its inputs without START
    own = targets & ~first_places(packing.target)
    inputs = words_before(packing.target, own)
    read = words_before(packing.source, sources)
    place = jnp.arange(S)[None] + jnp.take_along_axis(inputs, packing.source, axis=1)
    # the last word of a source stands where its target's START would
    behind = jnp.take_along_axis(read, jnp.minimum(packing.target + 1, S), axis=1)
    predicting = jnp.minimum(jnp.arange(T)[None] - packing.target - 1 + behind, J - 1)

    def placed(of_source: jax.Array, of_target: jax.Array, filler: Any) -> jax.Array:
        """[B, S] and [B, T] at their places of the text; J: the place is none of the text."""
        text = jnp.full((rows, J), filler, jnp.int32)
        text = text.at[row, jnp.where(sources, place, J)].set(of_source, mode="drop")
        return text.at[row, jnp.where(own, predicting, J)].set(of_target, mode="drop")

    return PackedText(
        placed(source, decoder_input, PAD),
        placed(packing.source, packing.target, S),
        predicting,
    )


def _count(words: jax.Array) -> jax.Array:
    """The number of words of each row [B, S], [B]."""
    return (words != PAD).sum(-1)


def _predicting(hidden: jax.Array, source: jax.Array, decoder_input: jax.Array) -> jax.Array:
    """The vectors [B, T, D] that predict the target, of those of the text [B, J, D]."""
    (_, S), T = source.shape, decoder_input.shape[1]
    if S == 1:
        return hidden
    hidden = jnp.pad(hidden, ((0, 0), (0, S + T - 1 - hidden.shape[1]), (0, 0)))
    rows = jax.vmap(lambda row, first: jax.lax.dynamic_slice_in_dim(row, first, T))
    return rows(hidden, _count(source) - 1)
