"""Latent attention: all heads' keys and values are computed from one narrow vector of each word."""

from dataclasses import field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention, AttentionBase, Memory
from attnjax.attention.heads.multihead import head_width
from attnjax.attention.mask import Mask, MaskLike, as_mask
from attnjax.attention.position import Positions
from attnjax.attention.score.base import ScaledDot
from attnjax.attention.score.positional import rotary
from attnjax.attention.shapes import Contexts, Keys, Queries, Values
from attnjax.config.constraints import PositiveFloat, PositiveInt
from attnjax.errors import UserError
from attnjax.nn.lift import clone_template, vmap_heads
from attnjax.nn.linear import Dense
from attnjax.nn.norm import RMSNorm, VectorNorm


class Latents(NamedTuple):
    """What a search keeps of each word: r + R numbers, however many heads there are.

    Attributes:
        latent: c_s, [..., S, r].
        shared_key: k_s, the part of the keys that is turned, not turned yet; [..., S, R].
    """

    latent: jax.Array
    shared_key: jax.Array


PER_HEAD = nn.initializers.lecun_uniform(in_axis=1, out_axis=2, batch_axis=0)
"""Initial values of a map of each head from latent vectors, [H, r, any]."""


class LatentAttention(AttentionBase):
    """H heads whose keys and values are linear maps of a latent vector c of each word.

        c_s = norm(W x_s),  k_s = W' x_s
        logits_h[t, s] = ((U_h c_s) . q_ht + (R_s k_s) . (R_t q'_ht)) / sqrt(N + R)
        context = [softmax(logits_h) V_h c]_h W''

    R_t turns by rotary angles. A head's key has N features of its own and R that all heads share.
    What is least work is chosen for each call: keys and values of each head, or, where queries are
    few, as in a search, U_h^T q_h and V_h applied to weighted sums of c. Both compute the same.

    The values are those of the keys: self-attention, or attention to another text. Sown logits and
    weights are [..., H, T, S].

    Attributes:
        head: an attention of scaled dot products, with any align.
        heads: H.
        latent_width: r.
        key_width: N; None: D / H.
        rotary_width: R, even.
        value_width: V; None: D / H.
        norm: of the latent vectors.
        base: of the rotary angles.

    Raises:
        UserError: a width is None and D is not a multiple of H; R is odd; the head's score is
            another one.

    Source: DeepSeek-AI 2024 (DeepSeek-V2), section 2.1 and appendix C; their queries have a latent
        of their own, which saves memory in training alone.
    """

    packs = True

    head: Attention = field(default_factory=Attention)
    heads: PositiveInt = 8
    latent_width: PositiveInt = 64
    key_width: PositiveInt | None = None
    rotary_width: PositiveInt = 16
    value_width: PositiveInt | None = None
    norm: VectorNorm = field(default_factory=RMSNorm)
    base: PositiveFloat = 10_000.0

    def setup(self) -> None:
        if not isinstance(self.head.score, ScaledDot) or self.head.reads_inputs():
            raise UserError(
                "LatentAttention wants a head of the score ScaledDot, without a bias; it turns "
                f"queries and keys itself; got {self.head.score.in_words()}"
            )
        if self.rotary_width % 2:
            raise UserError(
                f"rotary positions want an even width; got rotary_width {self.rotary_width}"
            )
        self.latent_norm = clone_template(self.norm)

    @nn.compact
    def prepare(self, key: Keys, value: Values) -> Latents:
        latent = self.latent_norm(Dense((self.latent_width,), bias=False, name="latent")(key))
        return Latents(latent, Dense((self.rotary_width,), bias=False, name="shared_key")(key))

    @nn.compact
    def attend(
        self,
        query: Queries,
        memory: Latents,
        mask: MaskLike = None,
        *,
        positions: Positions = Positions(),
        deterministic: bool | None = None,
    ) -> Contexts:
        width, steps, words = query.shape[-1], query.shape[-2], memory.latent.shape[-2]
        own, rank = self.key_width or head_width(width, self.heads), self.latent_width
        of_value = self.value_width or head_width(width, self.heads)
        key_map = self.param("key_map", PER_HEAD, (self.heads, rank, own))
        value_map = self.param("value_map", PER_HEAD, (self.heads, rank, of_value))
        at = positions.filled(query, memory.latent)
        both = own + self.rotary_width
        asked = Dense((self.heads, both), bias=False, name="query")(query)
        # [..., H, T, any]: heads are one more leading axis
        asked = jnp.swapaxes(asked, -2, -3)
        turned = rotary(asked[..., own:], jnp.expand_dims(at.query, -2), self.base)
        asked, shared = asked[..., :own], rotary(memory.shared_key, at.key, self.base)
        latent, shared = memory.latent[..., None, :, :], shared[..., None, :, :]
        asking = jnp.concatenate([asked, turned], axis=-1)
        # numbers multiplied for each head
        for_each = words * rank * (own + of_value) + steps * words * (own + of_value)
        absorbed = steps * rank * (own + of_value) + 2 * steps * words * rank
        absorbs = absorbed < for_each
        if absorbs:
            asked = jnp.einsum("...htn,hrn->...htr", asked, key_map)
            key, value = latent, latent
            scale = ((rank + self.rotary_width) / both) ** 0.5
            asked, turned = scale * asked, scale * turned
        else:
            key = jnp.einsum("...sr,hrn->...hsn", memory.latent, key_map)
            value = jnp.einsum("...sr,hrv->...hsv", memory.latent, value_map)
        shared = jnp.broadcast_to(shared, (*key.shape[:-1], self.rotary_width))
        memory_of_heads = Memory(jnp.concatenate([key, shared], axis=-1), value)
        context = self._contexts(
            jnp.concatenate([asked, turned], axis=-1) if absorbs else asking,
            asking,
            memory_of_heads,
            as_mask(mask, query),
            positions,
            deterministic=deterministic,
        )
        if absorbs:
            context = jnp.einsum("...htr,hrv->...htv", context, value_map)
        return Dense((width,), 2, bias=False, name="out")(jnp.swapaxes(context, -2, -3))

    def _contexts(
        self,
        query: jax.Array,
        asking: jax.Array,
        memory: Memory,
        mask: Mask,
        positions: Positions,
        *,
        deterministic: bool | None,
    ) -> jax.Array:
        """Return the contexts [..., H, T, any] of queries [..., H, T, K] and a memory of all heads.

        An align with parameters of its own in each head, or that reads the head's number, is
        lifted over heads; others read them as one more leading axis. An align that reads queries
        reads `asking`, [..., H, T, N + R], which are the same whatever is least work.
        """
        if self.head.align.same_in_every_head():
            own = {"positions": positions.expand_heads(), "deterministic": deterministic}
            return self.head.attend(query, memory, mask.expand_heads(), asking=asking, **own)

        def attend(head: Attention, query: Any, asking: Any, memory: Memory, mask: Any, at: Any):
            own = {"positions": at, "deterministic": deterministic}
            return head.attend(query, memory, mask, asking=asking, **own)

        each = (*query.shape[:-2],)
        memory = jax.tree.map(lambda x: jnp.broadcast_to(x, (*each, *x.shape[-2:])), memory)
        lifted = vmap_heads(attend, (-3, -3, -3, None, None), -3)
        return lifted(self.head, query, asking, memory, mask, positions)
