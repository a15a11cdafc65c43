"""Image captions: a convolutional encoder, and an LSTM that attends to patches of the image."""

from dataclasses import field
from functools import partial
from typing import Any

import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Bool, Float

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Padding
from attnjax.attention.score.base import Additive
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.models.base import logits
from attnjax.models.rnn_cells import LSTM, Cell
from attnjax.models.rnn_decoders import DecoderSource
from attnjax.models.sequence_model import SequenceModel, repeat_beams
from attnjax.models.shapes import Features, NextWord, Step, Words
from attnjax.models.sown_attention import Attentions, layer_attentions, pairs, queries_of
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, scan_time, vmap_beams
from attnjax.nn.linear import Dense

VGG_19 = ((64,) * 2, (128,) * 2, (256,) * 4, (512,) * 4, (512,) * 4)
"""Simonyan & Zisserman 2015, configuration E, up to its last convolution."""

Images = Float[Array, "B height width channels"]


class Convolutions(nn.Module):
    """Blocks of 3x3 convolutions with ReLU, and 2x2 max pooling between one block and the next.

    Attributes:
        blocks: the channels of each convolution of each block, which may have none. By default
            VGG-19's: its 14 x 14 x 512 numbers of an image of 224 x 224 are the paper's patches,
            but not trained on ImageNet.

    Source: Simonyan & Zisserman 2015; Xu et al. 2015, section 4.3.
    """

    blocks: tuple[tuple[PositiveInt, ...], ...] = VGG_19

    @nn.compact
    def __call__(self, x: Images) -> Float[Array, "B h w D"]:
        """Cut images into patches; a side has height / 2^(blocks - 1) or width / 2^(...)."""
        he = nn.initializers.he_normal()
        for number, block in enumerate(self.blocks):
            if number:
                x = _max_pool(x)
            for index, channels in enumerate(block):
                name = f"block_{number}_{index}"
                x = nn.relu(nn.Conv(channels, (3, 3), kernel_init=he, name=name)(x))
        return x


def _max_pool(x: Images) -> Float[Array, "B h w channels"]:
    """Return the maximum of each 2 x 2 pixels; an odd last row or column is left out.

    The gradient of `nn.max_pool` takes XLA's CPU code twice as long.
    """
    batch, height, width, channels = x.shape
    x = x[:, : height // 2 * 2, : width // 2 * 2]
    return x.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))


class Perceptron(nn.Module):
    """tanh(W_2 relu(W_1 x + b_1) + b_2), with a hidden layer as wide as x."""

    width: PositiveInt

    @nn.compact
    def __call__(self, x: Float[Array, "B D"]) -> Float[Array, "B W"]:
        hidden = nn.relu(Dense((x.shape[-1],), name="hidden")(x))
        return jnp.tanh(Dense((self.width,), name="out")(hidden))


class Captioner(SequenceModel):
    """Show, attend and tell: an LSTM writes a caption and attends to the image before each word.

    At each word y, with the patches a of the image and the state h before it:

        z = sigmoid(f_beta(h)) attention(h, a, a)       the gated context, section 4.2.1
        h' = LSTM([E y; z], h)                          eq. 1 to 3
        p = softmax(L_o (E y + L_h h' + L_z z))         eq. 7

    The initial c and h of the LSTM are two perceptrons of the patches' mean. Dropout is applied to
    the vector that L_o is multiplied with. An image with missing numbers (NaN) is filler; its
    patches are masked.

    Attributes:
        width: W, of the LSTM's state.
        embedding: D, of E and of L_o.

    Source: Xu et al. 2015, sections 3.1 and 4.2.1.
    """

    text = ("target",)
    limited = ("source",)  # the keys of the attention are patches

    width: PositiveInt = 512
    embedding: PositiveInt = 512
    encoder: Convolutions = field(default_factory=Convolutions)
    attention: AttentionBase = field(default_factory=lambda: Attention(score=Additive()))
    cell: Cell = field(default_factory=LSTM)
    dropout: DropoutRate = 0.0

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Images, decoder_input: Words) -> Attentions:
        present = _present(source)[:, None]
        mask = pairs(queries_of(decoder_input, present), present)
        return layer_attentions(
            tree, mask, "attention", words=(decoder_input, None), by_step=True, to_source=True
        )

    def setup(self) -> None:
        normal, shape = nn.initializers.normal, (self.vocabulary, self.embedding)
        self.words = self.param("words", normal(self.embedding**-0.5), shape)
        self.output_embedding = self.param("table", normal(self.embedding**-0.5), shape)
        self.unit = clone_template(self.cell, width=self.width)
        self.begin = [Perceptron(self.width) for _ in self.unit.initial(0, jnp.float32)]
        self.beta = Dense((1,))
        self.of_state = Dense((self.embedding,), bias=False)
        self.of_context = Dense((self.embedding,), bias=False)
        self.drop = Dropout(self.dropout)

    def encode(self, source: Images, *, deterministic: bool) -> tuple[Array, Padding]:
        """Return the patches of images, row by row, [B, P, D], and their mask."""
        present = _present(source)
        image = jnp.where(present[:, None, None, None], source, 0)
        patches = self.encoder(image.astype(self.output_embedding.dtype))
        patches = patches.reshape(len(source), -1, patches.shape[-1])
        return patches, Padding(jnp.broadcast_to(present[:, None], patches.shape[:2]))

    def features(self, source: Images, decoder_input: Words, *, deterministic: bool) -> Features:
        image, state = self._begin(*self.encode(source, deterministic=deterministic))
        read = partial(Captioner._read_word, image=image, deterministic=deterministic)
        words = self.words[decoder_input]
        _, (hidden, context) = scan_time(read)(self, state, words)
        output = self._output(words, hidden, context)
        return self.drop(output, deterministic=deterministic), self.output_embedding

    def start(self, memory: Array, mask: Padding, *, length: int, beams: int) -> Any:
        constants, state = self._begin(memory, mask)
        return constants, (), repeat_beams(state, beams)

    def step(self, constants: Any, cache: Any, state: Any, word: Words, step: Step) -> NextWord:
        del step  # the state counts the words
        read = partial(Captioner._read_word, image=constants, deterministic=True)
        embedded = self.words[word]
        state, (hidden, context) = vmap_beams(read)(self, state, embedded)
        output = self._output(embedded, hidden, context)
        return logits(output, self.output_embedding), cache, state

    def _begin(self, memory: Array, mask: Padding) -> tuple[DecoderSource, Any]:
        """Return the constants of an image, and the state of a caption before its first word."""
        mean = memory.mean(1)
        carry = tuple(perceptron(mean) for perceptron in self.begin)
        image = DecoderSource(self.attention.prepare(memory, memory), mask)
        return image, (carry, jnp.zeros(len(mean), jnp.int32))

    def _read_word(
        self, state: Any, word: Float[Array, "B D"], *, image: DecoderSource, deterministic: bool
    ) -> tuple[Any, tuple[Float[Array, "B W"], Float[Array, "B A"]]]:
        """Read a word; return the state after it, and h and the gated context."""
        carry, position = state
        before = carry[-1]
        context = image.context(self.attention, before, position, deterministic=deterministic)
        context = nn.sigmoid(self.beta(before)) * context
        projected = self.unit.project(jnp.concatenate([word, context], -1))
        carry, hidden = self.unit(carry, projected)
        return (carry, position + 1), (hidden, context)

    def _output(self, word: Array, hidden: Array, context: Array) -> Float[Array, "B T D"]:
        """Return E y + L_h h + L_z z, eq. 7."""
        return word + self.of_state(hidden) + self.of_context(context)


def _present(image: Images) -> Bool[Array, " B"]:
    """Return which images are not filler."""
    return jnp.isfinite(image).all((1, 2, 3))
