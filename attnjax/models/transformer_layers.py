"""The layers of a Transformer: residual connections, feed-forward network, encoder, decoder."""

from dataclasses import field
from typing import Any, Literal

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import Causal, Mask
from attnjax.attention.multihead import MultiHead
from attnjax.config.constraints import DropoutRate, PositiveInt
from attnjax.models.beam_cache import Slots, longer, write
from attnjax.nn.dropout import Dropout
from attnjax.nn.lift import clone_template, inherited
from attnjax.nn.linear import Dense


class Residual(nn.Module):
    """Where a layer's normalisation stands: sub-layers compute f(pre(x)), then post(x, f)."""

    def pre(self, x: jax.Array) -> jax.Array:
        """What the sub-layer sees of x."""
        raise NotImplementedError

    def post(self, x: jax.Array, change: jax.Array) -> jax.Array:
        """X with the sub-layer's change."""
        raise NotImplementedError

    def final(self, x: jax.Array) -> jax.Array:
        """What the whole stack returns."""
        raise NotImplementedError


class PostNorm(Residual):
    """x -> LayerNorm(x + f(x)). Vaswani et al. 2017, section 3.1."""

    def pre(self, x: jax.Array) -> jax.Array:
        """X itself."""
        return x

    @nn.compact
    def post(self, x: jax.Array, change: jax.Array) -> jax.Array:
        """LayerNorm(x + change)."""
        return nn.LayerNorm(name="norm")(x + change)

    def final(self, x: jax.Array) -> jax.Array:
        """X itself: it is normalised already."""
        return x


class PreNorm(Residual):
    """x -> x + f(LayerNorm(x)), and one LayerNorm at the end. Xiong et al. 2020, Table 1."""

    @nn.compact
    def pre(self, x: jax.Array) -> jax.Array:
        """LayerNorm(x)."""
        return nn.LayerNorm(name="norm")(x)

    def post(self, x: jax.Array, change: jax.Array) -> jax.Array:
        """X + change."""
        return x + change

    @nn.compact
    def final(self, x: jax.Array) -> jax.Array:
        """LayerNorm(x)."""
        return nn.LayerNorm(name="norm")(x)


class FeedForward(nn.Module):
    """FFN(x) = f(x W_1 + b_1) W_2 + b_2 at every position. Vaswani et al. 2017, eq. 2.

    Attributes:
        width: F, the hidden layer's.
        activation: f.
        dropout: on the hidden layer; the paper has none.
    """

    width: PositiveInt = 2048
    activation: Literal["relu", "gelu"] = "relu"
    dropout: DropoutRate = 0.0

    @nn.compact
    def __call__(self, x: jax.Array, *, deterministic: bool) -> jax.Array:
        """[..., T, D] -> [..., T, D]."""
        hidden = Dense((self.width,), name="hidden")(x)
        hidden = {"relu": nn.relu, "gelu": nn.gelu}[self.activation](hidden)
        hidden = Dropout(self.dropout, name="drop")(hidden, deterministic=deterministic)
        return Dense((x.shape[-1],), name="out")(hidden)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network. A field that is None is the model's.

    Attributes:
        self_attention: over the source.
        feed_forward: after it.
        residual: where the normalisation stands.
        dropout: on what each sub-layer adds.
    """

    self_attention: AttentionBase = field(default_factory=MultiHead)
    feed_forward: FeedForward = field(default_factory=FeedForward)
    residual: Residual | None = None
    dropout: DropoutRate | None = None

    def setup(self) -> None:
        """Each sub-layer has a normalisation of its own."""
        residual = inherited(self, "residual")
        self.self_attention_residual = clone_template(residual)
        self.feed_forward_residual = clone_template(residual)
        self.drop = Dropout(inherited(self, "dropout"))

    def __call__(self, x: jax.Array, mask: Mask, *, deterministic: bool) -> jax.Array:
        """[B, S, D] -> [B, S, D]."""
        seen = self.self_attention_residual.pre(x)
        change = self.self_attention(seen, seen, seen, mask, deterministic=deterministic)
        x = self.self_attention_residual.post(x, self.drop(change, deterministic=deterministic))
        seen = self.feed_forward_residual.pre(x)
        change = self.feed_forward(seen, deterministic=deterministic)
        return self.feed_forward_residual.post(x, self.drop(change, deterministic=deterministic))


class DecoderLayer(nn.Module):
    """Self-attention, attention to the source, the feed-forward network. None is the model's.

    Attributes:
        self_attention: over the words so far.
        cross_attention: over the source.
        feed_forward: after them.
        residual: where the normalisation stands.
        dropout: on what each sub-layer adds.
    """

    self_attention: AttentionBase = field(default_factory=MultiHead)
    cross_attention: AttentionBase = field(default_factory=MultiHead)
    feed_forward: FeedForward = field(default_factory=FeedForward)
    residual: Residual | None = None
    dropout: DropoutRate | None = None

    def setup(self) -> None:
        """Each sub-layer has a normalisation of its own."""
        residual = inherited(self, "residual")
        self.self_attention_residual = clone_template(residual)
        self.cross_attention_residual = clone_template(residual)
        self.feed_forward_residual = clone_template(residual)
        self.drop = Dropout(inherited(self, "dropout"))

    def prepare(self, source: jax.Array) -> Any:
        """The source [B, S, D] as `cross_attention` wants it; once a sentence."""
        return self.cross_attention.prepare(source, source)

    def start(self, source: jax.Array, slots: int) -> Any:
        """An empty memory of so many slots, of the form that `self_attention` gives it."""
        one = jnp.zeros((source.shape[0], 1, source.shape[-1]), source.dtype)
        return longer(jax.tree.map(jnp.zeros_like, self.self_attention.prepare(one, one)), slots)

    def __call__(
        self, x: jax.Array, source: Any, source_mask: Mask, *, deterministic: bool
    ) -> jax.Array:
        """All words at once: [B, T, D] -> [B, T, D]."""
        seen = self.self_attention_residual.pre(x)
        change = self.self_attention(seen, seen, seen, Causal(), deterministic=deterministic)
        return self._rest(x, change, source, source_mask, deterministic=deterministic)

    def step(
        self, x: jax.Array, own: Any, slots: Slots, source: Any, source_mask: Mask
    ) -> tuple[jax.Array, Any]:
        """The next word of each hypothesis [B, K, D], after the own words in their slots."""
        seen = self.self_attention_residual.pre(x)
        own = write(own, self.self_attention.prepare(seen, seen), slots.first)
        change = self.self_attention.attend(
            seen,
            own,
            slots.own,
            query_position=slots.query_position,
            key_position=slots.key_position,
            deterministic=True,
        )
        return self._rest(
            x,
            change,
            source,
            source_mask,
            query_position=slots.query_position,
            deterministic=True,
        ), own

    def _rest(
        self,
        x: jax.Array,
        change: jax.Array,
        source: Any,
        source_mask: Mask,
        *,
        query_position: jax.Array | None = None,
        deterministic: bool,
    ) -> jax.Array:
        """What follows the self-attention's change, the same for one word and for all."""
        x = self.self_attention_residual.post(x, self.drop(change, deterministic=deterministic))
        seen = self.cross_attention_residual.pre(x)
        change = self.cross_attention.attend(
            seen, source, source_mask, query_position=query_position, deterministic=deterministic
        )
        x = self.cross_attention_residual.post(x, self.drop(change, deterministic=deterministic))
        seen = self.feed_forward_residual.pre(x)
        change = self.feed_forward(seen, deterministic=deterministic)
        return self.feed_forward_residual.post(x, self.drop(change, deterministic=deterministic))
