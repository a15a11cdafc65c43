"""What every model is, so that experiments, search and measures need to know no more."""

from collections.abc import Iterator
from typing import Any, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.errors import UserError


class Model(nn.Module):
    """A module, frozen and unbound in an experiment, that says what it takes from the data.

    A model of sequences has, beside these methods:

        encode(source, *, deterministic) -> memory, Padding      source [B, S, ...]
        features(source, given, *, deterministic) -> hidden [B, T, D], table [V, D]
        start(memory, mask, *, length) -> constants, carry
        step(constants, carry, word [B]) -> logits [B, V], carry

    `features` is what training needs: logits are hidden times table. `start` and `step` are what a
    search needs: constants are held once a sentence, and every leaf of a carry leads with B.
    """

    @nn.nowrap
    def sized(self, source: int | None, target: int | None) -> Self:
        """The model for vocabularies of these sizes; None is what is no text.

        Raises:
            UserError: the model cannot take such data.
        """
        raise NotImplementedError

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, given: jax.Array) -> jax.Array:
        """The weights [B, T, S] behind each word, when the target is given.

        Args:
            params: the model's parameters.
            source: [B, S, ...].
            given: the target moved one place to the right, [B, T].

        Raises:
            UserError: the model attends to no source.
        """
        raise NotImplementedError

    @nn.nowrap
    def observed(self, params: Any, source: jax.Array, given: jax.Array) -> Any:
        """What a teacher-forced pass without dropout sows to "attention"."""
        _, seen = self.apply(
            {"params": params},
            source,
            given,
            deterministic=True,
            method="features",
            mutable=["attention"],
        )
        return seen.get("attention", {})


def logits(hidden: jax.Array, table: jax.Array) -> jax.Array:
    """What a table [V, D] makes of features [..., T, D]: [..., T, V], in float32 or wider."""
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    return jnp.einsum("...td,vd->...tv", hidden, table, preferred_element_type=wide)


def sown(tree: Any, *path: str) -> jax.Array:
    """The weights that one attention below this path has sown.

    Raises:
        UserError: there are none.
    """
    for name in path:
        tree = tree.get(name, {})
    found = [values[0] for name, values in _leaves(tree) if name == "weights"]
    if len(found) != 1:
        raise UserError(
            f"an alignment wants one attention to the source that shows its weights, at "
            f"{'.'.join(path)}; there are {len(found)}"
        )
    return found[0]


def _leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    for name, below in tree.items():
        if isinstance(below, tuple):
            yield name, below
        else:
            yield from _leaves(below)
