"""Score, align, pool: the dense path forms its weights and can show them, `fused` does neither."""

from dataclasses import field
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.align import Align, AlignContext, Normalise, Softmax
from attnjax.attention.fused.dispatch import REFUSES, Route, fused, pays_from
from attnjax.attention.kernel_score import Kernel
from attnjax.attention.mask import Mask
from attnjax.attention.score import Dot, ScaledDot, Score
from attnjax.config.constraints import DropoutRate
from attnjax.errors import UserError
from attnjax.nn.dropout import Dropout


class AttentionBase(nn.Module):
    """What every attention is, in two moments.

    `prepare` holds what depends on keys and values alone, once a sentence; `attend` is what every
    query does. Calling the module is one after the other.
    """

    def prepare(self, key: jax.Array, value: jax.Array) -> Any:
        """Keys [..., S, K] and values [..., S, V] -> a memory, whose leaves are [..., S, any]."""
        raise NotImplementedError

    def attend(
        self,
        query: jax.Array,
        memory: Any,
        mask: Mask | None = None,
        *,
        query_position: jax.Array | None = None,
        key_position: jax.Array | None = None,
        deterministic: bool,
    ) -> jax.Array:
        """Queries [..., T, K] against a prepared memory -> context [..., T, any].

        Positions are absolute, integers [..., T] and [..., S]; None means 0, 1, ...
        """
        raise NotImplementedError

    def __call__(
        self,
        query: jax.Array,
        key: jax.Array,
        value: jax.Array,
        mask: Mask | None = None,
        *,
        query_position: jax.Array | None = None,
        key_position: jax.Array | None = None,
        deterministic: bool,
    ) -> jax.Array:
        """`attend` after `prepare`: [..., T, K], [..., S, K], [..., S, V] -> [..., T, any]."""
        return self.attend(
            query,
            self.prepare(key, value),
            mask,
            query_position=query_position,
            key_position=key_position,
            deterministic=deterministic,
        )


class Memory(NamedTuple):
    """What `Attention.prepare` holds: the prepared key [..., S, any], the value [..., S, V]."""

    key: jax.Array
    value: jax.Array


def pool(weights: jax.Array, value: jax.Array) -> jax.Array:
    """context[t] = sum over s of weights[t, s] value[s]: [..., T, S], [..., S, V] -> [..., T, V].

    The weights are brought to the value's dtype, the products summed in float32 or wider.
    """
    wide = jnp.promote_types(value.dtype, jnp.float32)
    context = jnp.einsum(
        "...ts,...sv->...tv", weights.astype(value.dtype), value, preferred_element_type=wide
    )
    return context.astype(value.dtype)


def position_of(x: jax.Array) -> jax.Array:
    """Positions 0, 1, ... of the rows of x [..., T, any], as [1, ..., 1, T]."""
    return jnp.arange(x.shape[-2]).reshape(*[1] * (x.ndim - 2), -1)


class Attention(AttentionBase):
    """One head: logits = score(query, key), weights = align(logits, mask), context = weights value.

    Logits and weights, [..., T, S], are sown to the collection "attention". A row that may attend
    to nothing gives the context 0.

    Asking for that collection forms the weights; so does whatever has no other way: a score that is
    no dot product, an align that is no softmax, dropout while training. Else nobody sees them, and
    from a length on they are not formed, which changes no result and no parameter.

    Attributes:
        score: query, key -> logits.
        align: logits, mask, and who asks -> weights.
        dropout: the share of weights set to 0 while training, after they are sown.
        route: what computes the context where nobody asks for the weights: dense forms them,
            blockwise, cudnn and splash do not; auto takes what is best at the length. The last two
            are for training: evaluation and search take auto in their stead.

    Raises:
        UserError: the route is one without weights, and cannot do what is asked; or the align
            normalises what is no kernel, and could give weights below 0.
    """

    score: Score = field(default_factory=ScaledDot)
    align: Align = field(default_factory=Softmax)
    dropout: DropoutRate = 0.0
    route: Literal["auto", "dense", "blockwise", "cudnn", "splash"] = "auto"

    def prepare(self, key: jax.Array, value: jax.Array) -> Memory:
        """Let the score see the keys once."""
        return Memory(self.score.prepare(key), value)

    def needs_weights(self, *, deterministic: bool) -> str | None:
        """What of it cannot do without weights; None if nothing."""
        # A subclass may do anything.
        if type(self.score) not in (Dot, ScaledDot):
            return f"the score {type(self.score).__name__}"
        if type(self.align) is not Softmax:
            return f"the align {type(self.align).__name__}"
        return "dropout of weights" if self.dropout and not deterministic else None

    def where_formed(self) -> str:
        """Which route it takes in training, as a person reads it."""
        needed = self.needs_weights(deterministic=False)
        if needed or self.route == "dense":
            return f"dense, its weights are formed{f' for {needed}' if needed else ''}"
        if self.route == "auto":
            return f"dense, its weights are formed; from length {pays_from()} on not"
        return f"{self.route}, its weights are not formed unless they are asked for"

    def without_weights(
        self, query: jax.Array, memory: Memory, mask: Mask | None, *, deterministic: bool
    ) -> Route | None:
        """The route without weights to the context of queries [..., T, K]; None: form them.

        Raises:
            UserError: the route is one without weights, and something needs them.
        """
        if self.route == "dense" or self.is_mutable_collection("attention"):
            return None
        needed = self.needs_weights(deterministic=deterministic)
        if needed and self.route != "auto":
            raise UserError(f"{needed} needs the weights, which the route {self.route} never has")
        # what a device's own route cannot do are the masks of a search, and float32 parameters
        forced = self.route == "blockwise" or (self.route in REFUSES and not deterministic)
        if forced and not self.is_initializing():
            return self.route
        readable = mask is None or mask.has_blocks()
        short = min(query.shape[-2], memory.value.shape[-2]) < pays_from()
        return None if needed or not readable or short else "auto"

    def fuse(
        self,
        query: jax.Array,
        memory: Memory,
        mask: Mask | None,
        *,
        query_position: jax.Array | None,
        key_position: jax.Array | None,
        route: Route,
    ) -> jax.Array:
        """What `attend` gives, without weights; heads may be a leading axis."""
        return fused(
            query,
            *memory,
            mask,
            query_position=query_position,
            key_position=key_position,
            scale=query.shape[-1] ** -0.5 if isinstance(self.score, ScaledDot) else 1.0,
            route=route,
        )

    @nn.compact
    def attend(
        self,
        query: jax.Array,
        memory: Memory,
        mask: Mask | None = None,
        *,
        query_position: jax.Array | None = None,
        key_position: jax.Array | None = None,
        deterministic: bool,
    ) -> jax.Array:
        """Queries [..., T, K] -> context [..., T, V]."""
        if isinstance(self.align, Normalise) and not isinstance(self.score, Kernel):
            raise UserError(
                "the align Normalise wants a kernel for a score, which is never negative "
                f"(squared-exponential, boxcar, ...); got {type(self.score).__name__}"
            )
        route = self.without_weights(query, memory, mask, deterministic=deterministic)
        if route:
            places = {"query_position": query_position, "key_position": key_position}
            return self.fuse(query, memory, mask, **places, route=route)
        if key_position is None:
            logits = self.score(query, memory.key)
        else:
            logits = self.score.at(query, memory.key, key_position)
        if query_position is None:
            query_position = position_of(query)
        if key_position is None:
            key_position = position_of(memory.value)
        allowed = None
        if mask is not None:
            allowed = jnp.broadcast_to(mask.dense(query_position, key_position), logits.shape)
        weights = self.align(logits, allowed, AlignContext(query, query_position, key_position))
        self.sow("attention", "logits", logits)
        self.sow("attention", "weights", weights)
        weights = Dropout(self.dropout, name="drop")(weights, deterministic=deterministic)
        return pool(weights, memory.value)
