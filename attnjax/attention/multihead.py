"""Several attentions side by side: project, attend in each head, merge."""

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.fused import dispatch
from attnjax.attention.mask import Mask, MaskLike, as_mask
from attnjax.attention.position import Positions
from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.nn.lift import vmap_heads
from attnjax.nn.linear import Dense

UNIT_VARIANCE = nn.initializers.lecun_uniform()
"""Gives queries and keys of variance 1 at any key width, as section 3.2.1 (footnote 4) assumes; if
H K = D it is Glorot's initializer."""


class MultiHead(AttentionBase):
    """MultiHead(Q, K, V) = [head_1; ...; head_H] W, head_h = attention(Q W_h^Q, K W_h^K, V W_h^V).

    Any attention may be the head; each head has parameters and initial values of its own. Sown
    weights are [B, H, T, S]; a mask given as an array is [B, T, S].

    Attributes:
        head: the attention of one head.
        heads: H.
        key_width: K, the width of a head's queries and keys; None means D / H.
        value_width: V, the width of a head's values; None means D / H.
        bias: whether the four linear maps add a bias, as in BERT; the paper has none.

    Raises:
        UserError: a width is None and D is not a multiple of the number of heads.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    head: AttentionBase = field(default_factory=Attention)
    heads: PositiveInt = 8
    key_width: PositiveInt | None = None
    value_width: PositiveInt | None = None
    bias: bool = False

    @nn.compact
    def prepare(self, key: jax.Array, value: jax.Array) -> Any:
        """[..., S, D] twice -> the memory of all heads, with [..., H, S, any] leaves."""
        prepare = vmap_heads(lambda head, key, value: head.prepare(key, value), (-2, -2), -3)
        return prepare(
            self.head,
            self._project(key, self.key_width, "key"),
            self._project(value, self.value_width, "value"),
        )

    def start(self, memory: Any) -> Any | None:
        """The state of all heads, with [..., H, any, any] leaves; None: the head has none."""
        return vmap_heads(lambda head, memory: head.start(memory), (-3,), -3)(self.head, memory)

    @nn.compact
    def step(self, query: jax.Array, memory: Any, state: Any) -> tuple[jax.Array, Any]:
        """One more word, [..., 1, D] -> [..., 1, D], and the state of all heads after it."""
        step = vmap_heads(
            lambda head, query, memory, state: head.step(query, memory, state),
            (-2, -3, -3),
            (-2, -3),
        )
        heads, state = step(self.head, self._project(query, self.key_width, "query"), memory, state)
        return self._linear((query.shape[-1],), "out", axes=2)(heads), state

    @nn.compact
    def attend(
        self,
        query: jax.Array,
        memory: Any,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool,
    ) -> jax.Array:
        """Queries [..., T, D] -> [..., T, D]."""
        width, mask = query.shape[-1], as_mask(mask, query)
        query = self._project(query, self.key_width, "query")
        attend = self._at_once if self._alike(query, memory, mask, deterministic) else self._lifted
        heads = attend(query, memory, mask, positions, deterministic)
        return self._linear((width,), "out", axes=2)(heads)

    def _project(self, x: jax.Array, width: int | None, name: str) -> jax.Array:
        """[..., S, D] -> [..., S, H, width]."""
        if width is None:
            if x.shape[-1] % self.heads:
                raise UserError(
                    f"{self.heads} heads do not divide the width {x.shape[-1]}: "
                    "choose another number, or give key_width and value_width"
                )
            width = x.shape[-1] // self.heads
        return self._linear((self.heads, width), name)(x)

    def _linear(self, features: tuple[int, ...], name: str, axes: int = 1) -> Dense:
        """One of the four linear maps."""
        return Dense(features, axes, self.bias, UNIT_VARIANCE, name=name)

    def _alike(self, query: jax.Array, memory: Any, mask: Mask | None, deterministic: bool) -> bool:
        """Whether all heads compute the same, so that they can be one more leading axis."""
        return type(self.head) is Attention and dispatch.same_in_every_head(
            self.head,
            jnp.swapaxes(query, -2, -3),
            memory.value,
            mask,
            deterministic=deterministic,
        )

    def _lifted(
        self,
        query: jax.Array,
        memory: Any,
        mask: Mask | None,
        positions: Positions,
        deterministic: bool,
    ) -> jax.Array:
        """[..., T, H, K] -> [..., T, H, V]; each head has its own parameters and random keys."""

        def attend(head, query, memory, mask, positions):
            return head.attend(
                query, memory, mask, positions=positions, deterministic=deterministic
            )

        lifted = vmap_heads(attend, (-2, -3, None, None), -2)
        return lifted(self.head, query, memory, mask, positions)

    def _at_once(
        self,
        query: jax.Array,
        memory: Any,
        mask: Mask | None,
        positions: Positions,
        deterministic: bool,
    ) -> jax.Array:
        """[..., T, H, K] -> [..., T, H, V]; heads are one more leading axis, [..., H, T, K].

        A lifted fused kernel would read the tiles of all heads side by side, too many for a cache.
        Lifted dense heads would lead with H, and the memory [B, H, S, any] would be transposed
        before each product: 40 % of the time if there are few queries.
        """
        heads = self.head.attend(
            jnp.swapaxes(query, -2, -3),
            memory,
            None if mask is None else mask.expand_heads(),
            positions=positions.expand_heads(),
            deterministic=deterministic,
        )
        return jnp.swapaxes(heads, -2, -3)
