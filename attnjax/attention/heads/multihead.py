"""Several attentions side by side: project, attend in each head, merge.

Heads are computed in one call if possible, else each on its own. The memory holds G heads.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Literal

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.heads.carried import Carried
from attnjax.attention.heads.gate import Gate
from attnjax.attention.mask import Mask, MaskLike, as_mask, join
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, OneQuery, Queries, Values
from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.errors import UserError
from attnjax.nn.axes import smaller_length
from attnjax.nn.dropout import is_left_out, said_once
from attnjax.nn.lift import PARAMETERS, clone_template, vmap_heads
from attnjax.nn.linear import Dense
from attnjax.nn.norm import VectorNorm

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
        bias: whether the four linear maps add a bias, as in BERT; "output": W alone does. The paper
            has none.
        query_key_norm: normalizes the K features of each head's queries and keys, before positions
            are added or turned; all heads share its gains. None: they are as projected.
        context_norm: normalizes the V features of each head's context; all heads share its gains.
            None: they are as the head gives them.
        gate: multiplies the contexts, once normalized, by numbers computed from the layer's input
            at the query's word, before W; None: nothing does.
        heads_out: the numbers, from 0, of heads that are taken out, before training or after it:
            their contexts become 0. The parameters stay the same.
        deterministic: whether calls leave out dropout, for those that do not say it, as in Flax's
            attention: its lifts, such as `nn.remat`, cannot pass it. None: each call with dropout
            says it.

    Raises:
        UserError: a width is None and D is not a multiple of H; H is not a multiple of G; heads
            share keys and the score has parameters for them; a head that is taken out does not
            exist; both the field `deterministic` and a call say what becomes of dropout.

    Source: Vaswani et al. 2017, section 3.2.2; `key_heads`: Shazeer 2019, section 3, and Ainslie et
    al. 2023, section 2.2; `query_key_norm`: Henry et al. 2020, with learned gains as in Dehghani
    et al. 2023, section 2; `heads_out`: Michel et al. 2019, section 2.3.
    """

    packs = True  # if its head does

    head: AttentionBase = field(default_factory=Attention)
    heads: PositiveInt = 8
    key_heads: PositiveInt | None = None
    key_width: PositiveInt | None = None
    value_width: PositiveInt | None = None
    bias: bool | Literal["output"] = False
    heads_out: tuple[NonNegativeInt, ...] = ()
    query_key_norm: VectorNorm | None = None
    context_norm: VectorNorm | None = None
    gate: Gate | None = None
    deterministic: bool | None = None

    def setup(self) -> None:
        if self.heads % (self.key_heads or 1):
            raise UserError(f"{self.heads} heads cannot share {self.key_heads} key_heads equally")
        if max(self.heads_out, default=0) >= self.heads:
            raise UserError(f"heads_out {self.heads_out}: the heads are 0 to {self.heads - 1}")
        if self.query_key_norm is not None:
            self.query_norm = clone_template(self.query_key_norm)
            self.key_norm = clone_template(self.query_key_norm)

    @nn.compact
    def values(self, value: Values) -> jax.Array:
        """Project to the values of G heads, [..., S, G, V], before a first layer is mixed in."""
        return self._values(value, self.key_heads or self.heads)

    @nn.compact
    def prepare(self, key: Keys, value: Values, carried: Carried = Carried()) -> Any:
        """Return the memory of G heads, with [..., G, S, any] leaves.

        The values that are `carried` from a layer below have their share of each head's.
        """
        heads, inputs = self.key_heads or self.heads, key
        key = self._project(key, heads, self.key_width, "key")
        if self.query_key_norm is not None:
            key = self.key_norm(key)
        value = carried.mixed_into(self._values(value, heads))
        if self._group > 1:
            return _prepare_shared(self.head, key, value)
        given = (key, value, inputs) if self.head.reads_inputs() else (key, value)
        axes = (-2, -2, None)[: len(given)]
        return vmap_heads(type(self.head).prepare, axes, -3)(self.head, *given)

    def start(self, memory: Any) -> Any | None:
        """Return the state of H heads, with [..., H, any, any] leaves, or None if it has none."""
        return vmap_heads(type(self.head).start, (-3,), -3)(self.head, self._copy_groups(memory))

    @nn.compact
    def step(self, query: OneQuery, memory: Any, state: Any) -> tuple[jax.Array, Any]:
        projected = self._project_queries(query)
        lifted = vmap_heads(type(self.head).step, (-2, -3, -3), (-2, -3))
        contexts, state = lifted(self.head, projected, self._copy_groups(memory), state)
        return self._merge(contexts, query), state

    @nn.compact
    def attend(
        self,
        query: Queries,
        memory: Any,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        mask, deterministic = as_mask(mask, query), said_once(self.deterministic, deterministic)
        projected = self._project_queries(query)

        def attend(head: Any, query: jax.Array, memory: Any, mask: Any, own: Any) -> jax.Array:
            return head.attend(query, memory, mask, positions=own, deterministic=deterministic)

        if self._are_one_axis(query, memory, mask, deterministic=deterministic):
            contexts = self._at_once(attend, projected, memory, mask, positions)
        else:
            lifted = vmap_heads(attend, (-2, -3, None, None), -2)
            contexts = lifted(self.head, projected, self._copy_groups(memory), mask, positions)
        return self._merge(contexts, query)

    def _are_one_axis(
        self, query: Queries, memory: Any, mask: Mask, *, deterministic: bool | None
    ) -> bool:
        """Return whether heads can be a leading axis, [..., H, T, K]: no parameters, no draws."""
        head = self.head
        if type(head) is not Attention or head.needs_weights(deterministic=True):
            return False
        if head.bias is not None:
            return False
        if not (head.score.same_in_every_head() and head.align.same_in_every_head()):
            return False
        if self._group > 1 and head.is_mutable_collection("attention"):
            return False  # sown weights would be [..., G, H / G, T, S]
        length = smaller_length(query.shape[-2], memory.value.shape[-2])
        mask = join(head.mask, mask)
        if is_left_out(head.dropout, deterministic):
            return True
        return head.implementation_for(length, mask, deterministic=False) is not None

    def _at_once(
        self, attend: Callable, query: jax.Array, memory: Any, mask: Mask, positions: Positions
    ) -> jax.Array:
        """Compute the contexts with heads as a leading axis, or as two: [..., G, H / G, T, K].

        A lifted fused kernel would read the tiles of all heads side by side, too many for a cache.
        Lifted dense heads would lead with H, and the memory [B, H, S, any] would be transposed
        before each product: 40 % of the time if there are few queries.
        """
        query = jnp.swapaxes(query, -2, -3)
        *leading, heads, T, K = query.shape
        mask, positions = mask.expand_heads(), positions.expand_heads()
        if self._group > 1:
            query = query.reshape(*leading, heads // self._group, self._group, T, K)
            memory = jax.tree.map(lambda leaf: jnp.expand_dims(leaf, -3), memory)
            mask, positions = mask.expand_heads(), positions.expand_heads()
        context = attend(self.head, query, memory, mask, positions)
        return jnp.swapaxes(context.reshape(*leading, heads, T, context.shape[-1]), -2, -3)

    def _copy_groups(self, memory: Any) -> Any:
        """Copy the memory of G heads for each head of a group: [..., H, S, any] leaves."""
        if self._group == 1:
            return memory
        return jax.tree.map(lambda leaf: jnp.repeat(leaf, self._group, axis=-3), memory)

    @property
    def _group(self) -> int:
        """H / G, the number of heads that share each key."""
        return self.heads // (self.key_heads or self.heads)

    def _project_queries(self, query: Queries) -> jax.Array:
        """Project [..., T, D] to the queries of all heads, [..., T, H, K]."""
        projected = self._project(query, self.heads, self.key_width, "query")
        return projected if self.query_key_norm is None else self.query_norm(projected)

    def _project(self, x: jax.Array, heads: int, width: int | None, name: str) -> jax.Array:
        """Project [..., S, D] -> [..., S, heads, width]."""
        features = (heads, width or head_width(x.shape[-1], self.heads))
        return Dense(features, 1, self.bias is True, UNIT_VARIANCE, name=name)(x)

    def _values(self, value: Values, heads: int) -> jax.Array:
        """Return the values of the heads of keys, [..., S, G, V]."""
        return self._project(value, heads, self.value_width, "value")

    def _combined(self, contexts: jax.Array, inputs: Queries) -> jax.Array:
        """Return the contexts [..., T, any, V] of heads, normalized."""
        return contexts if self.context_norm is None else self.context_norm(contexts)

    def _merge(self, contexts: jax.Array, inputs: Queries) -> jax.Array:
        """Merge the contexts of heads: [..., T, H, V] -> [..., T, D]."""
        contexts = self._combined(contexts, inputs)
        if self.gate is not None:
            contexts = self.gate(inputs, contexts)
        if self.heads_out:
            contexts = contexts.at[..., jnp.array(self.heads_out), :].set(0)
        return Dense((inputs.shape[-1],), 2, bool(self.bias), UNIT_VARIANCE, name="out")(contexts)


def head_width(width: int, heads: int) -> int:
    """Return D / H, the width of a head.

    Raises:
        UserError: H does not divide D.
    """
    if width % heads:
        raise UserError(
            f"{heads} heads do not divide the width {width}: choose another number, or give "
            "key_width and value_width"
        )
    return width // heads


def _prepare_shared(head: AttentionBase, key: jax.Array, value: jax.Array) -> Any:
    """Return the memory of keys and values [..., S, G, any] that several heads share.

    A head with parameters for its keys cannot share them: each head's would differ.
    """
    if head.reads_inputs():
        name = type(getattr(head, "bias", head)).__name__
        raise UserError(
            f"key_heads wants heads that can share their keys; {name} computes numbers of each "
            "head from the layer's input: leave key_heads out"
        )
    before = jax.tree.structure(head.variables.get(PARAMETERS, {}))
    memory = head.prepare(jnp.swapaxes(key, -2, -3), jnp.swapaxes(value, -2, -3))
    if jax.tree.structure(head.variables.get(PARAMETERS, {})) != before:
        name = type(getattr(head, "score", head)).__name__
        raise UserError(
            f"key_heads wants heads that can share their keys; {name} has parameters for the keys "
            "of each head: leave key_heads out, choose another score, or, to normalize queries and "
            "keys, the field query_key_norm"
        )
    return memory
