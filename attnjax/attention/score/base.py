"""Scores: from queries and keys to logits, which say how well each key fits each query.

Each score is a module over the pure function of the same name. A score is written for one head, and
knows nothing of heads and masks. Logits are float32 or wider: a dot product of float16 vectors can
overflow before the softmax.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.tree_util import Partial
from jaxtyping import Array, Float

from attnjax.attention.position import Positions, index_of
from attnjax.attention.shapes import Keys, Logits, Queries
from attnjax.attention.traits import Fusible
from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.nn.axes import known_length
from attnjax.nn.dtypes import wide
from attnjax.nn.length_limit import LengthLimited
from attnjax.nn.linear import Dense
from attnjax.nn.product import product


def dot(query: Queries, key: Keys) -> Logits:
    """Return the dot product: logits[t, s] = query[t] . key[s].

    Raises:
        UserError: query and key differ in width.

    Source: Luong et al. 2015, section 3.1, "dot"; Vaswani et al. 2017, section 3.2.1.
    """
    check_widths(query, key, "a dot product")
    return product("tk,sk->ts", query, key, wide(query, key))


def scaled_dot(query: Queries, key: Keys) -> Logits:
    """Return the scaled dot product: logits[t, s] = query[t] . key[s] / sqrt(K).

    If the entries of query and key are independent with mean 0 and variance 1, their dot product
    has variance K. The scale brings the variance back to 1, so that the softmax does not saturate.

    Source: Vaswani et al. 2017, eq. 1.
    """
    return dot(query, key) / query.shape[-1] ** 0.5


def general(query: Queries, key: Keys, weight: Float[Array, "Q K"]) -> Logits:
    """Return the bilinear form: logits[t, s] = query[t] W key[s].

    Source: Luong et al. 2015, section 3.1, "general".
    """
    return dot(product("tq,qk->tk", query, weight, wide(query, weight)), key)


def additive(
    query: Float[Array, "*#B T W"], key: Float[Array, "*#B S W"], v: Float[Array, " W"]
) -> Logits:
    """Apply a network with one hidden layer: logits[t, s] = v . tanh(query[t] + key[s]).

    The query is W s and the key U h, both already projected.

    Source: Bahdanau et al. 2015, appendix A.1.2: v_a . tanh(W_a s_(i-1) + U_a h_j); Luong et al.
    2015, section 3.1, "concat".
    """
    hidden = jnp.tanh(query[..., :, None, :] + key[..., None, :, :])
    return jnp.einsum("...tsw,w->...ts", hidden, v, preferred_element_type=wide(hidden))


def location(query: Queries, weight: Float[Array, "Q S"]) -> Logits:
    """Return the location score, blind to the keys' content: logits[t, s] = query[t] W[:, s].

    Source: Luong et al. 2015, eq. 8: a_t = softmax(W_a h_t).
    """
    return dot(query, weight.T)


def salience(key: Keys, weight: Float[Array, " K"], bias: jax.Array) -> Float[Array, "*#B S"]:
    """Return the salience of each key, which no query changes: tanh(weight . key[s] + bias).

    It lies in (-1, 1), so that by a softmax no key has more than e^2 times the weight of another.

    Source: Raffel & Ellis 2015, section 2.1.
    """
    logit = jnp.einsum("...sk,k->...s", key, weight, preferred_element_type=wide(key))
    return jnp.tanh(logit + bias)


def soft_cap(logits: Logits, cap: float | jax.Array) -> Logits:
    """Bound logits smoothly: cap tanh(logits / cap), which is the identity near 0.

    Source: Gemma Team 2024 (Gemma 2), section 2; there the cap of attention's logits is 50.
    """
    return cap * jnp.tanh(logits / cap)


def check_widths(query: Queries, key: Keys, what: str) -> None:
    """Refuse queries [..., T, Q] and keys [..., S, K] of different widths."""
    if query.shape[-1] != key.shape[-1]:
        raise UserError(
            f"{what} wants queries and keys of equal width; got {query.shape[-1]} and "
            f"{key.shape[-1]} (the scores general and additive take any widths)"
        )


class DotProduct(NamedTuple):
    """Logits in the form that a fused kernel computes: scale query[t] . key[s] + bias[t, s].

    The bias is a function of (scale query, positions); see `attnjax.attention.fused.Inputs`. With a
    cap the logits x, bias included, are cap tanh(x / cap). A scale that has a gradient is an array;
    with such a cap the weights are computed.
    """

    query: jax.Array
    key: jax.Array
    scale: float | jax.Array
    bias: Callable[..., jax.Array] | None = None
    cap: float | jax.Array | None = None

    def plus(self, bias: Partial) -> "DotProduct":
        """Add a bias, before any cap."""
        if self.cap is not None:
            raise ValueError("a bias is added to logits before their cap")
        return self._replace(bias=bias if self.bias is None else Partial(_sum, self.bias, bias))

    def logits(self, positions: Positions) -> Logits:
        """Return the logits themselves, [..., T, S], in float32 or wider."""
        logits = self.scale * dot(self.query, self.key)
        if self.bias is not None:
            bias = self.bias(self.scale * self.query, positions)
            logits = logits + jnp.broadcast_to(bias, logits.shape)
        return logits if self.cap is None else soft_cap(logits, self.cap)

    def times(self, factor: float | jax.Array) -> "DotProduct":
        """Multiply the logits by a number, which is an array where it has a gradient."""
        if isinstance(factor, jax.Array):
            if self.cap is not None:
                raise ValueError("capped logits are multiplied by a known number only")
            product = self._replace(query=self.query * factor.astype(self.query.dtype))
        elif factor == 1:
            return self
        else:
            cap = None if self.cap is None else self.cap * factor
            product = self._replace(scale=self.scale * factor, cap=cap)
        if self.bias is None:
            return product
        # each example's own, as a kernel wants the arrays of a bias
        array = jnp.broadcast_to(jnp.asarray(factor, wide(self.query)), self.query.shape[:-2])
        return product._replace(bias=Partial(_times, array, self.bias))


def _times(factor: jax.Array, bias: Partial, query: jax.Array, positions: Positions) -> jax.Array:
    factor = factor[..., None, None].astype(query.dtype)
    return factor * bias(query / factor, positions)


def _sum(first: Partial, second: Partial, query: jax.Array, positions: Positions) -> jax.Array:
    return first(query, positions) + second(query, positions)


class Score(Fusible):
    """A score: `prepare` computes the part of the keys alone, `__call__` the logits.

    A fused kernel computes dot products only. A score whose logits are dot products says
    `fusible=True`, and gives the vectors in `as_dot_product`.
    """

    def prepare(self, key: Keys) -> Float[Array, "*#B S _"]:
        """Compute the part of the keys alone, once a source: [..., S, K] -> [..., S, any]."""
        return key

    @abstractmethod
    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        """Return the logits [..., T, S] of queries [..., T, K] and prepared keys [..., S, any]."""

    @nn.nowrap
    def is_capped(self) -> bool:
        """Return whether `as_dot_product` has a cap: nothing can be added to its logits."""
        return False

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        """Return the logits of `__call__`, in the form that a fused kernel computes."""
        raise ValueError(f"the score {type(self).__name__} is no dot product")


class Dot(Score, fusible=True, same_in_every_head=True):
    """`dot` as a part; no parameters."""

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return dot(query, key)

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        return DotProduct(query, key, 1.0)


class ScaledDot(Score, fusible=True, same_in_every_head=True):
    """`scaled_dot` as a part; no parameters."""

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return scaled_dot(query, key)

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        return DotProduct(query, key, query.shape[-1] ** -0.5)


class WidthScaledDot(Score, fusible=True, same_in_every_head=True):
    """logits[t, s] = query[t] . key[s] sqrt(K_0) / K, with K_0 = `base_key_width`; no parameters.

    In training queries and keys grow alike, and their product then grows with K, not with its
    root. At K = K_0 it is `scaled_dot`. See `attnjax.nn.width_transfer`.

    Source: Yang et al. 2022, Definition 4.1.
    """

    base_key_width: PositiveInt = 16

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return dot(query, key) * self._scale(query)

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        return DotProduct(query, key, self._scale(query))

    def _scale(self, query: Queries) -> float:
        return self.base_key_width**0.5 / query.shape[-1]


class General(Score):
    """`general` as a part; its matrix W is [Q, K], so query and key may differ in width."""

    @nn.compact
    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        shape = (query.shape[-1], key.shape[-1])
        return general(query, key, self.param("weight", nn.initializers.lecun_normal(), shape))


class Additive(Score):
    """`additive` with its two projections, without biases; `prepare` computes U h.

    Luong's "concat" is the same function: v . tanh(W [q; k]) = v . tanh(W_1 q + W_2 k), where W_1
    and W_2 are the two halves of W. The hidden layer's width, W, is by default that of the key.
    """

    width: PositiveInt | None = None

    @nn.compact
    def prepare(self, key: Keys) -> Float[Array, "*#B S _"]:
        return Dense((self.width or key.shape[-1],), bias=False, name="key")(key)

    @nn.compact
    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        width = key.shape[-1]
        projected = Dense((width,), bias=False, name="query")(query)
        v = self.param("v", nn.initializers.normal(width**-0.5), (width,))
        return additive(projected, key, v)


class Salience(Score):
    """`salience` as a part: logits[t, s] = tanh(w . key[s] + b); the query is not read."""

    @nn.compact
    def prepare(self, key: Keys) -> Float[Array, "*#B S _"]:
        """Return the logit of each key, [..., S, 1]."""
        width = key.shape[-1]
        weight = self.param("weight", nn.initializers.normal(width**-0.5), (width,))
        return salience(key, weight, self.param("bias", nn.initializers.zeros, ()))[..., None]

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        logits = jnp.swapaxes(key, -1, -2)
        leading = jnp.broadcast_shapes(query.shape[:-2], logits.shape[:-2])
        return jnp.broadcast_to(logits, (*leading, query.shape[-2], logits.shape[-1]))


class Location(Score, LengthLimited):
    """`location` as a part: its matrix W, [Q, max_length], has one column for each key position.

    A key at any other position has the logit NaN.

    Raises:
        UserError: there are more than `max_length` keys; or a position outside
            0, ..., max_length - 1 is known before compiling.

    Source: Luong et al. 2015, eq. 8.
    """

    uses_absolute_positions = True

    max_length: PositiveInt = 512

    def prepare(self, key: Keys) -> Keys:
        """Return the keys, at most `max_length`; a beam's cache has several at each position."""
        if known_length(key.shape[-2], "a location score") > self.max_length:
            raise UserError(
                f"a location score with max_length {self.max_length} takes at most as many keys; "
                f"got {key.shape[-2]}"
            )
        return key

    @nn.compact
    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        shape = (query.shape[-1], self.max_length)
        weight = self.param("weight", nn.initializers.lecun_normal(), shape)
        column = index_of(positions.key, self.max_length, "Location")
        if column.size == column.shape[-1]:  # the same positions in every example
            return location(query, jnp.take(weight, column.reshape(-1), axis=1, mode="fill"))
        logits = location(query, weight)
        column = jnp.broadcast_to(column[..., None, :], (*logits.shape[:-1], key.shape[-2]))
        return jnp.take_along_axis(logits, column, axis=-1, mode="fill")
