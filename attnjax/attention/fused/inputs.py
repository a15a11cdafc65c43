"""The arguments of a fused kernel, as one value that every kernel reads."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_

import jax
import jax.numpy as jnp

from attnjax.attention.mask import Mask, Padding
from attnjax.attention.position import Positions


@dataclass(frozen=True, eq=False)
class Inputs:
    """The arguments of context[t] = sum_s softmax_s(scale query[t] . key[s] + bias[t, s]) value[s].

    Attributes:
        query: [..., T, K].
        key: [..., S, K].
        value: [..., S, V].
        mask: None allows everything.
        positions: absolute, integers that broadcast to [..., T] and [..., S]; None: 0, 1, ...
        bias: a function of (scale query, positions), [..., T, K] and `Positions`, that returns what
            broadcasts to [..., T, S]; a kernel calls it on one tile at a time. The arrays of a
            `jax.tree_util.Partial` are passed first; they are floats that lead with the query's
            leading axes, and have gradients.
        scale: of the dot products.
    """

    query: jax.Array
    key: jax.Array
    value: jax.Array
    mask: Mask | None = None
    positions: Positions = Positions()
    bias: Callable[..., jax.Array] | None = None
    scale: float = 1.0

    def rules(self) -> tuple[Mask, ...]:
        """The single rules of the mask."""
        return () if self.mask is None else self.mask.rules()

    def numbered(self) -> bool:
        """Whether queries and keys are known to stand at 0, 1, ..."""
        return self.positions.query is None and self.positions.key is None

    def group(self) -> int:
        """R, how many heads share each key: queries [..., R, T, K] and keys [..., 1, S, K]."""
        shared = self.key.shape[-3:-2] == self.value.shape[-3:-2] == (1,)
        return self.query.shape[-3] if shared and self.query.ndim == self.key.ndim else 1

    def present(self) -> jax.Array | None:
        """The keys that no rule `Padding` forbids, [..., S]; None without such a rule."""
        shape = self.key.shape[:-1]
        padding = [rule.present for rule in self.rules() if isinstance(rule, Padding)]
        return reduce(and_, (jnp.broadcast_to(x, shape) for x in padding)) if padding else None
