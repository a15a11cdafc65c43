"""What attention without weights is asked for: one value, which every route reads."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_

import jax
import jax.numpy as jnp

from attnjax.attention.mask import Mask, Padding


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of context[t] = sum_s softmax_s(scale query[t] . key[s] + bias[t, s]) value[s].

    Attributes:
        query: [..., T, K].
        key: [..., S, K].
        value: [..., S, V].
        mask: what is allowed; None means everything.
        query_position: absolute, integers that broadcast to [..., T]; None means 0, 1, ...
        key_position: the same, [..., S].
        bias: called as bias(query_position [T], key_position [S]) -> [T, S] on a part of one
            example. A `jax.tree_util.Partial` gets its example's share of its arrays first; they
            lead with the query's leading axes, and have gradients.
        scale: of the products.
    """

    query: jax.Array
    key: jax.Array
    value: jax.Array
    mask: Mask | None = None
    query_position: jax.Array | None = None
    key_position: jax.Array | None = None
    bias: Callable[..., jax.Array] | None = None
    scale: float = 1.0

    def rules(self) -> tuple[Mask, ...]:
        """The single rules of the mask."""
        return () if self.mask is None else self.mask.rules()

    def numbered(self) -> bool:
        """Whether positions are other than 0, 1, ..., as far as is known."""
        return self.query_position is not None or self.key_position is not None

    def present(self) -> jax.Array | None:
        """The keys that no padding forbids, [..., S]; None where no rule is of padding."""
        shape = self.key.shape[:-1]
        padding = [rule.present for rule in self.rules() if isinstance(rule, Padding)]
        return reduce(and_, (jnp.broadcast_to(x, shape) for x in padding)) if padding else None
