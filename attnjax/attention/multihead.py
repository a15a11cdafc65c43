"""Several attentions side by side: project, attend in each head, merge."""

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.fused.dispatch import Route
from attnjax.attention.mask import Mask
from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.nn.lift import vmap_heads
from attnjax.nn.linear import Dense

UNIT_VARIANCE = nn.initializers.lecun_uniform()
"""Queries and keys of variance 1 at any key width, as section 3.2.1 (footnote 4) assumes; where
H K = D this is Glorot's matrix."""


class MultiHead(AttentionBase):
    """MultiHead(Q, K, V) = [head_1; ...; head_H] W, head_h = attention(Q W_h^Q, K W_h^K, V W_h^V).

    Any mechanism may sit in the heads; each head has parameters and initial values of its own.
    No biases, as in the paper. Sown weights are [B, H, T, S].

    Attributes:
        head: what each head does, written for one head.
        heads: H.
        key_width: K, the width of a head's queries and keys; None means D / H.
        value_width: V, the width of a head's values; None means D / H.

    Raises:
        UserError: a width is None and the heads do not divide D.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    head: AttentionBase = field(default_factory=Attention)
    heads: PositiveInt = 8
    key_width: PositiveInt | None = None
    value_width: PositiveInt | None = None

    def _project(self, x: jax.Array, width: int | None, name: str) -> jax.Array:
        """[..., S, D] -> [..., S, H, width]."""
        if width is None:
            if x.shape[-1] % self.heads:
                raise UserError(
                    f"{self.heads} heads do not divide the width {x.shape[-1]}: "
                    "choose another number, or give key_width and value_width"
                )
            width = x.shape[-1] // self.heads
        features = (self.heads, width)
        return Dense(features, bias=False, initializer=UNIT_VARIANCE, name=name)(x)

    @nn.compact
    def prepare(self, key: jax.Array, value: jax.Array) -> Any:
        """[..., S, D] twice -> the memory of all heads, with [..., H, S, any] leaves."""
        prepare = vmap_heads(lambda attention, k, v: attention.prepare(k, v), (-2, -2), -3)
        return prepare(
            self.head,
            self._project(key, self.key_width, "key"),
            self._project(value, self.value_width, "value"),
        )

    @nn.compact
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
        """Queries [..., T, D] -> [..., T, D]."""
        width, query = query.shape[-1], self._project(query, self.key_width, "query")
        asked = {"query_position": query_position, "key_position": key_position}
        route = None
        if type(self.head) is Attention:
            turned = jnp.swapaxes(query, -2, -3)
            route = self.head.without_weights(turned, memory, mask, deterministic=deterministic)
        if route or (deterministic and self._is_plain()):
            heads = self._at_once(query, memory, mask, route=route, **asked)
        else:

            def one_head(attention, query, memory, mask, query_position, key_position):
                return attention.attend(
                    query,
                    memory,
                    mask,
                    query_position=query_position,
                    key_position=key_position,
                    deterministic=deterministic,
                )

            lifted = vmap_heads(one_head, (-2, -3, None, None, None), -2)
            heads = lifted(self.head, query, memory, mask, query_position, key_position)
        merge = Dense((width,), axes=2, bias=False, initializer=UNIT_VARIANCE, name="out")
        return merge(heads)

    def _is_plain(self) -> bool:
        """Whether heads are known to do all the same: no parameters, no look at `axis_index`."""
        attention = self.head
        return type(attention) is Attention and not attention.needs_weights(deterministic=True)

    def _at_once(
        self,
        query: jax.Array,
        memory: Any,
        mask: Mask | None,
        *,
        query_position: jax.Array | None,
        key_position: jax.Array | None,
        route: Route | None,
    ) -> jax.Array:
        """[..., T, H, K] -> [..., T, H, V], the heads as one more leading axis.

        Lifted heads that form no weights would read their tiles one beside the other, too many for
        a cache. Those that do would stand before B, and the memory [B, H, S, any] would have to be
        transposed to be multiplied: 40 % of the time where few queries ask.
        """
        at, of = (
            None if position is None else jnp.expand_dims(position, -2)
            for position in (query_position, key_position)
        )
        query, rules = jnp.swapaxes(query, -2, -3), None if mask is None else mask.expand_heads()
        asked = {"query_position": at, "key_position": of}
        if route:
            heads = self.head.fuse(query, memory, rules, **asked, route=route)
        else:
            heads = self.head.attend(query, memory, rules, **asked, deterministic=True)
        return jnp.swapaxes(heads, -2, -3)
