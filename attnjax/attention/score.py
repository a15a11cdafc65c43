"""How well a query fits each key: query, key -> logits.

Every score is a module over the pure function of the same name. It is written for one head,
knows nothing of heads or masks, and returns logits in float32 or wider: a product of float16
numbers overflows before any softmax could save it.
"""

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.config.constraints import PositiveInt
from attnjax.errors import UserError
from attnjax.nn.length_limit import LengthLimited, MaxLength
from attnjax.nn.linear import Dense


def dot(query: jax.Array, key: jax.Array) -> jax.Array:
    """Multiply, and nothing else: logits[t, s] = query[t] . key[s].

    Args:
        query: [..., T, K].
        key: [..., S, K].

    Returns:
        [..., T, S], accumulated in float32 or wider.

    Raises:
        UserError: query and key differ in width.

    Source: Luong et al. 2015, section 3.1, "dot"; Vaswani et al. 2017, section 3.2.1.
    """
    check_widths(query, key, "a dot product")
    wide = jnp.promote_types(jnp.result_type(query, key), jnp.float32)
    return jnp.einsum("...tk,...sk->...ts", query, key, preferred_element_type=wide)


def scaled_dot(query: jax.Array, key: jax.Array) -> jax.Array:
    """Multiply and scale: logits[t, s] = query[t] . key[s] / sqrt(K); shapes as in `dot`.

    If the entries of query and key are independent with mean 0 and variance 1, their dot product
    has variance K; the scale brings it back to 1 and the softmax out of saturation.

    Source: Vaswani et al. 2017, eq. 1.
    """
    return dot(query, key) / query.shape[-1] ** 0.5


def general(query: jax.Array, key: jax.Array, weight: jax.Array) -> jax.Array:
    """Compare through a matrix: logits[t, s] = query[t] W key[s].

    Args:
        query: [..., T, Q].
        key: [..., S, K].
        weight: W, [Q, K].

    Source: Luong et al. 2015, section 3.1, "general".
    """
    wide = jnp.promote_types(jnp.result_type(query, weight), jnp.float32)
    return dot(jnp.matmul(query, weight, preferred_element_type=wide), key)


def additive(query: jax.Array, key: jax.Array, v: jax.Array) -> jax.Array:
    """Compare through one hidden layer: logits[t, s] = v . tanh(query[t] + key[s]).

    Args:
        query: W s, already projected, [..., T, W].
        key: U h, already projected, [..., S, W].
        v: [W].

    Source: Bahdanau et al. 2015, appendix A.1.2: v_a . tanh(W_a s_(i-1) + U_a h_j); Luong et al.
    2015, section 3.1, "concat".
    """
    hidden = jnp.tanh(query[..., :, None, :] + key[..., None, :, :])
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    return jnp.einsum("...tsw,w->...ts", hidden, v, preferred_element_type=wide)


def location(query: jax.Array, weight: jax.Array) -> jax.Array:
    """Compare with the key's place alone: logits[t, s] = query[t] W[:, s].

    Args:
        query: [..., T, Q].
        weight: W, [Q, S]; a column for each place, the first key's first.

    Returns:
        [..., T, S], accumulated in float32 or wider.

    Source: Luong et al. 2015, eq. 8: a_t = softmax(W_a h_t).
    """
    return dot(query, weight.T)


def check_widths(query: jax.Array, key: jax.Array, what: str) -> None:
    """Refuse queries [..., T, Q] and keys [..., S, K] of different widths."""
    if query.shape[-1] != key.shape[-1]:
        raise UserError(
            f"{what} wants a query and a key of one width; got {query.shape[-1]} and "
            f"{key.shape[-1]} (the scores general and additive take any)"
        )


class Score(nn.Module):
    """What every score is: `prepare` what depends on the key alone, then compare.

    `prepare` runs once a sentence, outside any decoding loop.
    """

    def prepare(self, key: jax.Array) -> jax.Array:
        """What of the score depends on the key alone: [..., S, K] -> [..., S, any]."""
        return key

    def __call__(self, query: jax.Array, key: jax.Array) -> jax.Array:
        """Query [..., T, K] against the prepared key [..., S, any]: logits [..., T, S]."""
        raise NotImplementedError

    def at(self, query: jax.Array, key: jax.Array, key_position: jax.Array) -> jax.Array:
        """The same for keys at positions [..., S], which few scores look at."""
        return self(query, key)


class Dot(Score):
    """`dot` as a part; no parameters."""

    def __call__(self, query: jax.Array, key: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        return dot(query, key)


class ScaledDot(Score):
    """`scaled_dot` as a part; no parameters."""

    def __call__(self, query: jax.Array, key: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        return scaled_dot(query, key)


class General(Score):
    """`general` as a part; its matrix W is [Q, K], so query and key may differ in width."""

    @nn.compact
    def __call__(self, query: jax.Array, key: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        shape = (query.shape[-1], key.shape[-1])
        return general(query, key, self.param("weight", nn.initializers.lecun_normal(), shape))


class Additive(Score):
    """`additive` with its two projections, without biases; U h is prepared once a sentence.

    Luong's "concat" is the same function: one matrix times the two vectors stacked is the sum of
    its halves' products, v . tanh(W [q; k]) = v . tanh(W_1 q + W_2 k).

    Attributes:
        width: W, the hidden layer's width; None means the key's.
    """

    width: PositiveInt | None = None

    @nn.compact
    def prepare(self, key: jax.Array) -> jax.Array:
        """U h: [..., S, K] -> [..., S, W]."""
        return Dense((self.width or key.shape[-1],), bias=False, name="key")(key)

    @nn.compact
    def __call__(self, query: jax.Array, key: jax.Array) -> jax.Array:
        """Return [..., T, S] for the query [..., T, Q] and the prepared key [..., S, W]."""
        width = key.shape[-1]
        projected = Dense((width,), bias=False, name="query")(query)
        v = self.param("v", nn.initializers.normal(width**-0.5), (width,))
        return additive(projected, key, v)


class Location(Score, LengthLimited):
    """`location` as a part; its matrix W is [Q, max_length]; the keys' content is not looked at.

    Attributes:
        max_length: how many places have a column; fewer keys use the first ones, as in the paper.

    Raises:
        UserError: there are more keys than that. Of keys in another order the number says nothing:
            a position that has no column gives NaN.
    """

    max_length: PositiveInt = 512

    @nn.nowrap
    def length_limit(self) -> MaxLength:
        return MaxLength(self.max_length, "max_length")

    def __call__(self, query: jax.Array, key: jax.Array) -> jax.Array:
        """Return [..., T, S]."""
        keys = key.shape[-2]
        if keys > self.max_length:
            raise UserError(f"a location score has places for {self.max_length} keys; got {keys}")
        return location(query, self._weight(query.shape[-1])[:, :keys])

    def at(self, query: jax.Array, key: jax.Array, key_position: jax.Array) -> jax.Array:
        logits = location(query, self._weight(query.shape[-1]))
        column = jnp.broadcast_to(key_position[..., None, :], (*logits.shape[:-1], key.shape[-2]))
        return jnp.take_along_axis(logits, column, axis=-1, mode="fill")

    @nn.compact
    def _weight(self, width: int) -> jax.Array:
        """W."""
        return self.param("weight", nn.initializers.lecun_normal(), (width, self.max_length))
