"""The layers of a Transformer: residual connections, encoder, decoder."""

from abc import ABC, abstractmethod
from dataclasses import field
from functools import partial
from typing import Any

import jax
from flax import linen as nn

from attnjax.attention.attention import AttentionBase, Mixer
from attnjax.attention.mask import Causal, Mask, Padding, join
from attnjax.attention.multihead import MultiHead
from attnjax.attention.position import Positions
from attnjax.config.constraints import DropoutRate
from attnjax.models.beam_cache import (
    BeamCache,
    LayerMemory,
    attend_to_past,
    attend_to_prompt,
    empty_memory,
)
from attnjax.models.feed_forward import FeedForward, FeedForwardBase
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherited, rematerialize
from attnjax.nn.norm import LayerNorm, Norm
from attnjax.nn.remat import Remat


class Residual(nn.Module, ABC):
    """A residual connection with a norm: post(x, f(pre(x))) for a sub-layer f.

    All three functions are from [..., D] to [..., D]. In training their last argument, booleans
    [...], says which positions are not padding; in evaluation and search it is None, see `Norm`.
    """

    def pre(self, x: jax.Array, counted: jax.Array | None = None) -> jax.Array:
        """The input of the sub-layer; by default x itself."""
        return x

    @abstractmethod
    def post(self, x: jax.Array, change: jax.Array, counted: jax.Array | None = None) -> jax.Array:
        """The sum of x and the sub-layer's output."""

    def final(self, x: jax.Array, counted: jax.Array | None = None) -> jax.Array:
        """The output of the whole stack of layers; by default x itself."""
        return x


class PostNorm(Residual):
    """x -> norm(x + f(x)). Vaswani et al. 2017, section 3.1."""

    norm: Norm = field(default_factory=LayerNorm)

    def post(self, x: jax.Array, change: jax.Array, counted: jax.Array | None = None) -> jax.Array:
        return self.norm(x + change, counted)


class PreNorm(Residual):
    """x -> x + f(norm(x)), and one norm at the end. Xiong et al. 2020, Table 1."""

    norm: Norm = field(default_factory=LayerNorm)

    def pre(self, x: jax.Array, counted: jax.Array | None = None) -> jax.Array:
        return self.norm(x, counted)

    def post(self, x: jax.Array, change: jax.Array, counted: jax.Array | None = None) -> jax.Array:
        return x + change

    def final(self, x: jax.Array, counted: jax.Array | None = None) -> jax.Array:
        return self.norm(x, counted)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network.

    Attributes:
        self_attention: over the source; or another mixer of its places, such as a convolution.
        residual: where the norm stands, and which it is; None: the model's.
        dropout: on what each sub-layer adds; None: the model's.
        remat: which arrays training keeps for the layer's gradient; None: all.
    """

    self_attention: Mixer = field(default_factory=MultiHead)
    feed_forward: FeedForwardBase = field(default_factory=FeedForward)
    residual: Residual | None = None
    dropout: DropoutRate | None = None
    remat: Remat | None = None

    def setup(self) -> None:
        residual = inherited(self, "residual")
        self.self_attention_residual = clone_template(residual)
        self.feed_forward_residual = clone_template(residual)
        self.drop = Dropout(inherited(self, "dropout"))

    def __call__(
        self,
        x: jax.Array,
        mask: Mask,
        *,
        position: jax.Array | None = None,
        counted: jax.Array | None = None,
        deterministic: bool,
    ) -> jax.Array:
        """[B, S, D] -> [B, S, D]; `counted` [B, S] as in `Residual`.

        `position`, integers [B, S]: of packed rows; None: 0, 1, ...
        """
        layer = partial(EncoderLayer._compute, deterministic=deterministic)
        return rematerialize(layer, self.remat)(self, x, mask, position, counted)

    def _compute(
        self,
        x: jax.Array,
        mask: Mask,
        position: jax.Array | None,
        counted: jax.Array | None,
        *,
        deterministic: bool,
    ) -> jax.Array:
        seen = self.self_attention_residual.pre(x, counted)
        # a convolution or a recurrence takes no positions, and reads no packed rows
        given = {} if position is None else {"positions": Positions(position, position)}
        change = self.self_attention(seen, mask=mask, deterministic=deterministic, **given)
        change = self.drop(change, deterministic=deterministic)
        x = self.self_attention_residual.post(x, change, counted)
        seen = self.feed_forward_residual.pre(x, counted)
        change = self.feed_forward(seen, deterministic=deterministic)
        change = self.drop(change, deterministic=deterministic)
        return self.feed_forward_residual.post(x, change, counted)


class DecoderLayer(nn.Module):
    """Self-attention, attention to the source if there is one, then the feed-forward network.

    Attributes:
        self_attention: over the words so far.
        cross_attention: over the source; None: a decoder without a source, as in GPT.
        residual: where the norm stands, and which it is; None: the model's.
        dropout: on what each sub-layer adds; None: the model's.
        remat: which arrays training keeps for the layer's gradient; None: all.
    """

    self_attention: AttentionBase = field(default_factory=MultiHead)
    cross_attention: AttentionBase | None = field(default_factory=MultiHead)
    feed_forward: FeedForwardBase = field(default_factory=FeedForward)
    residual: Residual | None = None
    dropout: DropoutRate | None = None
    remat: Remat | None = None

    def setup(self) -> None:
        residual = inherited(self, "residual")
        self.self_attention_residual = clone_template(residual)
        if self.cross_attention is not None:
            self.cross_attention_residual = clone_template(residual)
        self.feed_forward_residual = clone_template(residual)
        self.drop = Dropout(inherited(self, "dropout"))

    def prepare(self, source: jax.Array) -> Any:
        """The memory of the source [B, S, D] for `cross_attention`; computed once a sentence.

        A layer without cross-attention has none: an empty tuple, whatever the source.
        """
        if self.cross_attention is None:
            return ()
        return self.cross_attention.prepare(source, source)

    def empty_memory(self, source: jax.Array, *, length: int, beams: int) -> LayerMemory:
        """The memory of `self_attention` before the first word, see `beam_cache.empty_memory`."""
        return empty_memory(self.self_attention, source, length=length, beams=beams)

    def __call__(
        self,
        x: jax.Array,
        source: jax.Array,
        source_mask: Mask,
        *,
        own_mask: Mask | None = None,
        positions: Positions = Positions(),
        counted: jax.Array | None = None,
        deterministic: bool,
    ) -> jax.Array:
        """All words at once: [B, T, D] -> [B, T, D].

        A layer without `cross_attention` does not read the states of the source, [B, S, D].
        `own_mask` is joined to causality in the self-attention: `Segments` of packed rows.
        Positions are those of the words and of the source, None 0, 1, ...; `counted`, [B, T], as in
        `Residual`.
        """
        layer = partial(DecoderLayer._compute, deterministic=deterministic)
        layer = rematerialize(layer, self.remat)
        return layer(self, x, source, source_mask, own_mask, positions, counted)

    def _compute(
        self,
        x: jax.Array,
        source: jax.Array,
        source_mask: Mask,
        own_mask: Mask | None,
        positions: Positions,
        counted: jax.Array | None,
        *,
        deterministic: bool,
    ) -> jax.Array:
        prepared = self.prepare(source)
        seen = self.self_attention_residual.pre(x, counted)
        change = self.self_attention(
            seen,
            mask=join(Causal(), own_mask),
            positions=Positions(positions.query, positions.query),
            deterministic=deterministic,
        )
        return self._rest(
            x,
            change,
            prepared,
            source_mask,
            positions=positions,
            counted=counted,
            deterministic=deterministic,
        )

    def read(
        self, x: jax.Array, present: jax.Array, *, length: int, beams: int
    ) -> tuple[jax.Array, LayerMemory]:
        """A prompt, without cross-attention: [B, S, D] -> [B, S, D], and the past of K hypotheses.

        The words that are `present`, booleans [B, S], belong to the past: the first ones of each
        row. There is room for L = `length` words more.
        """
        seen = self.self_attention_residual.pre(x)
        change, past = attend_to_prompt(
            self.self_attention, seen, present, length=length, beams=beams
        )
        return self._rest(x, change, (), Padding(present), deterministic=True), past

    def step(
        self, x: jax.Array, past: LayerMemory, beams: BeamCache, source: Any, source_mask: Mask
    ) -> tuple[jax.Array, LayerMemory]:
        """One more word of each hypothesis: [B, K, D] -> [B, K, D], and the past with it."""
        seen = self.self_attention_residual.pre(x)
        change, past = attend_to_past(self.self_attention, seen, past, beams)
        return self._rest(
            x,
            change,
            source,
            source_mask,
            positions=Positions(beams.positions.query),
            deterministic=True,
        ), past

    def _rest(
        self,
        x: jax.Array,
        change: jax.Array,
        source: Any,
        source_mask: Mask,
        *,
        positions: Positions = Positions(),
        counted: jax.Array | None = None,
        deterministic: bool,
    ) -> jax.Array:
        """The layer from the self-attention's change on, for one word and for all words."""
        change = self.drop(change, deterministic=deterministic)
        x = self.self_attention_residual.post(x, change, counted)
        if self.cross_attention is not None:
            seen = self.cross_attention_residual.pre(x, counted)
            change = self.cross_attention.attend(
                seen, source, source_mask, positions=positions, deterministic=deterministic
            )
            change = self.drop(change, deterministic=deterministic)
            x = self.cross_attention_residual.post(x, change, counted)
        seen = self.feed_forward_residual.pre(x, counted)
        change = self.feed_forward(seen, deterministic=deterministic)
        change = self.drop(change, deterministic=deterministic)
        return self.feed_forward_residual.post(x, change, counted)
