"""Selective attention: words hide earlier words, which no longer matter, from all later ones."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention
from attnjax.attention.heads.carried import Carried
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Mask, MaskLike, allowed_pairs, as_mask, join
from attnjax.attention.masked import fill_hidden
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Contexts, Keys, Queries, Values
from attnjax.errors import UserError
from attnjax.nn.dropout import said_once
from attnjax.nn.dtypes import wide, widen
from attnjax.nn.lift import vmap_heads
from attnjax.nn.product import product


class SelectiveMemory(NamedTuple):
    """The memory of the heads, and the query of head 0 at each word, [..., S, K]."""

    heads: Any
    query: jax.Array


class SelectiveHeads(MultiHead):
    """Multi-head attention in which head 0 hides words from the later queries of every head.

        logits_h'[t, s] = logits_h[t, s] - F[t, s]
        F[t, s] = sum over s < r < t of max(0, logits_0[r, s]),   0 for the first key

    r and the first key are among the words that t may attend to. A word hides neither itself nor
    the first; what it hides, it hides from the words after it. No parameters are added. The memory
    has the queries of head 0 besides keys and values: F is computed of them, so that a cache of
    several hypotheses has all that each of them needs.

    Time grows with S^2 for each query of all heads together, in a search too.

    Raises:
        UserError: the head is no `Attention` that computes its weights, or its score has
            parameters or is not the same in every head.

    Source: Leviathan et al. 2024, section 3 and Figure 2.
    """

    def setup(self) -> None:
        super().setup()
        head = self.head
        if type(head) is not Attention or not head.score.same_in_every_head():
            name = head.score.in_words() if type(head) is Attention else type(head).__name__
            raise UserError(
                "SelectiveHeads wants heads that are Attention, with a score that is the same in "
                f"every head, such as ScaledDot or Rotary; got {name}"
            )
        if head.implementation not in ("auto", "dense"):
            raise UserError(
                "SelectiveHeads changes the logits of each pair: it wants the implementation dense "
                f"of its heads, or auto; got {head.implementation}"
            )

    @nn.compact
    def prepare(self, key: Keys, value: Values, carried: Carried = Carried()) -> SelectiveMemory:
        heads = super().prepare(key, value, carried)
        return SelectiveMemory(heads, self._project_queries(key)[..., 0, :])

    def start(self, memory: SelectiveMemory) -> None:
        return None

    @nn.compact
    def attend(
        self,
        query: Queries,
        memory: SelectiveMemory,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        mask, deterministic = as_mask(mask, query), said_once(self.deterministic, deterministic)
        hidden = self._hidden(query, memory, join(self.head.mask, mask), positions)

        def attend(
            head: Attention, query: jax.Array, memory: Any, mask: Any, own: Any, hidden: jax.Array
        ) -> jax.Array:
            return head.attend(
                query, memory, mask, positions=own, added=-hidden, deterministic=deterministic
            )

        lifted = vmap_heads(attend, (-2, -3, None, None, None), -2)
        heads = self._copy_groups(memory.heads)
        queries = self._project_queries(query)
        return self._merge(lifted(self.head, queries, heads, mask, positions, hidden), query)

    def _hidden(
        self, query: jax.Array, memory: SelectiveMemory, mask: Mask, positions: Positions
    ) -> jax.Array:
        """Return F, [..., T, S]."""
        key, words = memory.heads.key[..., 0, :, :], memory.query
        key, words = (fill_hidden(mask, x) for x in (key, words))
        at, shape = positions.filled(query, key), (*query.shape[:-1], key.shape[-2])
        logits = widen(self.head.score(words, key, Positions(at.key, at.key)))
        before = at.key[..., None, :] < at.key[..., :, None]
        hides = jnp.where(before, jax.nn.relu(logits), 0)
        earlier = at.key[..., None, :] < at.query[..., :, None]
        allowed = allowed_pairs(mask, at, shape)
        allowed = jnp.ones(shape, bool) if allowed is None else allowed
        hidden = product("tr,rs->ts", (allowed & earlier).astype(wide(query)), hides)
        none = jnp.iinfo(jnp.int32).max
        numbers = jnp.where(allowed, at.key[..., None, :], none)
        first = numbers.min(-1, keepdims=True, initial=none)
        return jnp.where(numbers == first, 0, hidden)
