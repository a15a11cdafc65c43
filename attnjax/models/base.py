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
        start(memory, mask, *, length, size) -> constants, written, carry
        step(constants, written, carry, word [B, K], place) -> logits [B, K, V], written, carry

    `features` is what training needs: logits are hidden times table. `start` and `step` are what a
    search needs for K = `size` hypotheses of each sentence, all of them at the same place; `place`,
    a scalar, is how many words came before this one. A decoder's state is of three kinds:

        constants   held once a sentence; nothing changes them. Leaves [B, ...].
        written     held once a sentence; a step puts what it has made of its K words behind what
                    earlier steps wrote, in place. Leaves [B, ...].
        carry       held once a hypothesis, leaves [B, K, ...]: of what each step returns, the
                    search picks those of the hypotheses that go on.

    So a memory that grows with the words is never copied from hypothesis to hypothesis: it is
    written, and the carry says which of the written words are a hypothesis' own.
    """

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
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

    def longer(self, written: Any, carry: Any, *, length: int) -> tuple[Any, Any]:
        """What is written and what is carried, with room for `length` words, more than before.

        Raises:
            UserError: more words than the model has positions.
        """
        del length
        return written, carry

    @nn.nowrap
    def sown_attention(self, params: Any, source: jax.Array, given: jax.Array) -> Any:
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


def each(carry: Any, size: int) -> Any:
    """A carry whose leaves are [B, ...], the same for each of `size` hypotheses: [B, K, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], size, axis=1), carry)


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
        where = f", at {'.'.join(path)}" if path else ""
        raise UserError(
            "an alignment wants one attention to the source that shows its weights"
            f"{where}; there are {len(found)}"
        )
    return found[0]


def _leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    for name, below in tree.items():
        if isinstance(below, tuple):
            yield name, below
        else:
            yield from _leaves(below)
