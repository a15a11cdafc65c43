"""Several attentions side by side: project, attend in each head, merge."""

from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.heads import attend_heads, prepare_heads, start_heads, step_heads
from attnjax.attention.mask import MaskLike, as_mask
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, Queries, Values
from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.errors import UserError
from attnjax.nn.linear import Dense

UNIT_VARIANCE = nn.initializers.lecun_uniform()
"""Gives queries and keys of variance 1 at any key width, as section 3.2.1 (footnote 4) assumes; if
H K = D it is Glorot's initializer."""


class MultiHead(AttentionBase):
    """MultiHead(Q, K, V) = [head_1; ...; head_H] W, head_h = attention(Q W_h^Q, K W_h^K, V W_h^V).

    Any attention can be the head; each head has parameters and initial values of its own. Sown
    weights are [B, H, T, S]; a mask given as an array is [B, T, S].

    Attributes:
        heads: H.
        key_heads: G, the number of heads of keys and values, each shared by H / G neighboring heads
            of queries; None means H, 1 is multi-query attention.
        key_width: K, the width of a head's queries and keys; None means D / H.
        value_width: V, the width of a head's values; None means D / H.
        bias: whether the four linear maps add a bias, as in BERT; the paper has none.
        heads_out: the numbers, from 0, of heads that are taken out: their contexts become 0. The
            parameters stay the same, so heads can be taken out before training and after it.

    Raises:
        UserError: a width is None and D is not a multiple of H; H is not a multiple of G; heads
            share keys and the score has parameters for them; a head that is taken out is none.

    Source: Vaswani et al. 2017, section 3.2.2; `key_heads`: Shazeer 2019, section 3, and Ainslie et
    al. 2023, section 2.2; `heads_out`: Michel et al. 2019, section 2.3.
    """

    head: AttentionBase = field(default_factory=Attention)
    heads: PositiveInt = 8
    key_heads: PositiveInt | None = None
    key_width: PositiveInt | None = None
    value_width: PositiveInt | None = None
    bias: bool = False
    heads_out: tuple[NonNegativeInt, ...] = ()

    def setup(self) -> None:
        if self.heads % (self.key_heads or 1):
            raise UserError(f"{self.heads} heads cannot share {self.key_heads} key_heads equally")
        if max(self.heads_out, default=0) >= self.heads:
            raise UserError(f"heads_out {self.heads_out}: the heads are 0 to {self.heads - 1}")

    @nn.compact
    def prepare(self, key: Keys, value: Values) -> Any:
        heads = self.key_heads or self.heads
        key = self._project(key, heads, self.key_width, "key")
        value = self._project(value, heads, self.value_width, "value")
        return prepare_heads(self.head, key, value, self._group)

    def start(self, memory: Any) -> Any | None:
        return start_heads(self.head, memory, self._group)

    @nn.compact
    def step(
        self, query: Float[Array, "*#B 1 Q"], memory: Any, state: Any
    ) -> tuple[jax.Array, Any]:
        projected = self._project(query, self.heads, self.key_width, "query")
        contexts, state = step_heads(self.head, projected, memory, state, self._group)
        return self._merge(contexts, query.shape[-1]), state

    @nn.compact
    def attend(
        self,
        query: Queries,
        memory: Any,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool,
    ) -> Contexts:
        mask = as_mask(mask, query)
        projected = self._project(query, self.heads, self.key_width, "query")
        contexts = attend_heads(
            self.head, projected, memory, mask, positions, self._group, deterministic=deterministic
        )
        return self._merge(contexts, query.shape[-1])

    @property
    def _group(self) -> int:
        """H / G, the number of heads that share each key."""
        return self.heads // (self.key_heads or self.heads)

    def _project(self, x: jax.Array, heads: int, width: int | None, name: str) -> jax.Array:
        """[..., S, D] -> [..., S, heads, width]."""
        if width is None and x.shape[-1] % self.heads:
            raise UserError(
                f"{self.heads} heads do not divide the width {x.shape[-1]}: "
                "choose another number, or give key_width and value_width"
            )
        return self._linear((heads, width or x.shape[-1] // self.heads), name)(x)

    def _merge(self, contexts: jax.Array, width: int) -> jax.Array:
        """[..., T, H, V] -> [..., T, width]."""
        if self.heads_out:
            contexts = contexts.at[..., jnp.array(self.heads_out), :].set(0)
        return self._linear((width,), "out", axes=2)(contexts)

    def _linear(self, features: tuple[int, ...], name: str, axes: int = 1) -> Dense:
        """One of the four linear maps."""
        return Dense(features, axes, self.bias, UNIT_VARIANCE, name=name)
