"""From an image to its caption: a convolutional encoder, and an LSTM that attends to patches."""

from dataclasses import field
from typing import Any, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Padding
from attnjax.attention.score import Additive
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.errors import UserError
from attnjax.models.base import Model, each, logits, sown
from attnjax.models.rnn_cells import LSTM, Cell
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, scan_time, vmap_beams
from attnjax.nn.linear import Dense

VGG_19 = ((64,) * 2, (128,) * 2, (256,) * 4, (512,) * 4, (512,) * 4)
"""Simonyan & Zisserman 2015, configuration E, up to its last convolution."""


class Convolutions(nn.Module):
    """Blocks of 3x3 convolutions with ReLU, and 2x2 max pooling between one block and the next.

    Attributes:
        blocks: for each block the number of channels of each of its convolutions, which may be
            none. By default those of VGG-19 up to its last convolution, whose 14 x 14 x 512
            numbers of an image of 224 x 224 are the paper's patches; there they come trained on
            ImageNet, here they do not.

    Source: Simonyan & Zisserman 2015; Xu et al. 2015, section 4.3.
    """

    blocks: tuple[tuple[PositiveInt, ...], ...] = VGG_19

    @nn.compact
    def __call__(self, image: jax.Array) -> jax.Array:
        """Images [B, height, width, channels] -> [B, height / 2^(blocks - 1), ..., D]."""
        x = image
        for number, block in enumerate(self.blocks):
            if number:
                x = _pooled(x)
            for place, channels in enumerate(block):
                convolve = nn.Conv(
                    channels,
                    (3, 3),
                    kernel_init=nn.initializers.he_normal(),
                    name=f"block_{number}_{place}",
                )
                x = nn.relu(convolve(x))
        return x


def _pooled(x: jax.Array) -> jax.Array:
    """The largest of each 2 x 2, an odd last row or column left out: [B, h, w, D].

    The gradient of `nn.max_pool` takes XLA's CPU code twice as long.
    """
    batch, height, width, channels = x.shape
    x = x[:, : height // 2 * 2, : width // 2 * 2]
    return x.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))


class Perceptron(nn.Module):
    """tanh(W_2 relu(W_1 x + b_1) + b_2): where the decoder begins.

    Attributes:
        width: of the result; the hidden layer has the input's.
    """

    width: PositiveInt

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """[B, D] -> [B, width]."""
        hidden = nn.relu(Dense((x.shape[-1],), name="hidden")(x))
        return jnp.tanh(Dense((self.width,), name="out")(hidden))


class Captioner(Model):
    """Show, attend and tell: each word is written while one looks at the patches of an image.

    At each word y, with the patches a of the image and the state h before it:

        z = sigmoid(f_beta(h)) attention(h, a, a)       the gated context, section 4.2.1
        h' = LSTM([E y; z], h)                          eq. 1 to 3
        p = softmax(L_o (E y + L_h h' + L_z z))         eq. 7

    The LSTM's c and h begin as two perceptrons of the patches' mean. Dropout falls on what L_o is
    multiplied with. Missing numbers (NaN) in an image make it filler, to which nobody attends.

    Attributes:
        vocabulary: the number of words; None until the data is read.
        width: W, of the LSTM's state.
        embedding: D, of E and of L_o.
        encoder: from images to patches.
        attention: from the state to the patches.
        cell: the template of the decoder's unit.
        dropout: while training.

    Source: Xu et al. 2015, sections 3.1 and 4.2.1.
    """

    vocabulary: PositiveInt | None = None
    width: PositiveInt = 512
    embedding: PositiveInt = 512
    encoder: Convolutions = field(default_factory=Convolutions)
    attention: AttentionBase = field(default_factory=lambda: Attention(score=Additive()))
    cell: Cell = field(default_factory=LSTM)
    dropout: DropoutRate = 0.0

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        if source is not None or target is None:
            raise UserError(
                "a Captioner wants images without a vocabulary and captions with one; got "
                f"{source} source and {target} target symbols"
            )
        return self.clone(vocabulary=target)

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, given: jax.Array) -> jax.Array:
        """The mean over the attention's heads, if it has several."""
        weights = sown(self.sown_attention(params, source, given), "attention")
        return weights.reshape(*given.shape, -1, weights.shape[-1]).mean(2)

    def setup(self) -> None:
        """Name what has parameters."""
        if self.vocabulary is None:
            raise ValueError("a model's vocabulary must be a number before it is used; got None")
        normal, shape = nn.initializers.normal, (self.vocabulary, self.embedding)
        self.words = self.param("words", normal(self.embedding**-0.5), shape)
        self.table = self.param("table", normal(self.embedding**-0.5), shape)
        self.unit = clone_template(self.cell, width=self.width)
        self.begin = [Perceptron(self.width) for _ in self.unit.initial(0, jnp.float32)]
        self.beta = Dense((1,))
        self.of_state = Dense((self.embedding,), bias=False)
        self.of_context = Dense((self.embedding,), bias=False)
        self.drop = Dropout(self.dropout)

    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[jax.Array, Padding]:
        """Images [B, height, width, channels] -> patches [B, P, D], row by row, and their mask."""
        there = jnp.isfinite(source).all((1, 2, 3))
        image = jnp.where(there[:, None, None, None], source, 0).astype(self.table.dtype)
        patches = self.encoder(image)
        patches = patches.reshape(len(source), -1, patches.shape[-1])
        return patches, Padding(jnp.broadcast_to(there[:, None], patches.shape[:2]))

    def features(
        self, source: jax.Array, given: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """What the logits are the product of: hidden layers [B, T, D], the table L_o [V, D].

        Args:
            source: images [B, height, width, channels].
            given: the target moved one place to the right, [B, T].
            deterministic: no dropout.
        """
        memory, mask = self.encode(source, deterministic=deterministic)
        constants, carry = self._begin(memory, mask)

        def step(model: Self, carry: Any, word: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
            return model._look(constants, carry, word, deterministic=deterministic)

        words = self.words[given]
        _, (state, context) = scan_time(step)(self, carry, words)
        hidden = self._output(words, state, context)
        return self.drop(hidden, deterministic=deterministic), self.table

    def __call__(self, source: jax.Array, given: jax.Array, *, deterministic: bool) -> jax.Array:
        """Images [B, height, width, channels], given [B, T] -> logits [B, T, V]."""
        return logits(*self.features(source, given, deterministic=deterministic))

    def start(
        self, memory: jax.Array, mask: Padding, *, length: int, size: int
    ) -> tuple[Any, tuple[()], Any]:
        """What `step` holds once an image, and what `size` hypotheses carry; nothing is written.

        Args:
            memory: patches.
            mask: which of them are there.
            length: of no account: a state does not grow.
            size: K.
        """
        del length
        constants, carry = self._begin(memory, mask)
        return constants, (), each(carry, size)

    def _begin(self, memory: jax.Array, mask: Padding) -> tuple[Any, Any]:
        """What is held once an image, and what one caption carries."""
        mean = memory.mean(1)
        carried = tuple(perceptron(mean) for perceptron in self.begin)
        constants = self.attention.prepare(memory, memory), mask
        return constants, (carried, jnp.zeros(len(mean), jnp.int32))

    def step(
        self, constants: Any, written: tuple[()], carry: Any, word: jax.Array, place: jax.Array
    ) -> tuple[jax.Array, tuple[()], Any]:
        """One word a hypothesis [B, K] -> logits of the next [B, K, V], and the state after it."""
        del place  # the carry counts for itself

        def one(model: Self, carry: Any, word: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
            return model._look(constants, carry, word, deterministic=True)

        embedded = self.words[word]
        carry, (state, context) = vmap_beams(one)(self, carry, embedded)
        return logits(self._output(embedded, state, context), self.table), written, carry

    def _look(
        self, constants: Any, carry: Any, word: jax.Array, *, deterministic: bool
    ) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        """One word [B, D] -> the carry after it, its state [B, W] and its context [B, any]."""
        (memory, mask), (carried, position) = constants, carry
        before = self.unit.hidden(carried)
        found = self.attention.attend(
            before[:, None],
            memory,
            mask,
            query_position=position[:, None],
            deterministic=deterministic,
        )[:, 0]
        context = nn.sigmoid(self.beta(before)) * found
        projected = self.unit.project(jnp.concatenate([word, context], -1))
        carried, state = self.unit(carried, projected)
        return (carried, position + 1), (state, context)

    def _output(self, word: jax.Array, state: jax.Array, context: jax.Array) -> jax.Array:
        """E y + L_h h + L_z z, [..., D]: eq. 7."""
        return word + self.of_state(state) + self.of_context(context)
