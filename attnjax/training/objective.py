"""What a training minimises, as sums over tokens that add up over devices and batches."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.data.symbols import START
from attnjax.training.cross_entropy import cross_entropy

type Totals = dict[str, tuple[jax.Array, jax.Array]]
"""A name's (sum, count), both of float32 or wider; "loss" is what is minimised."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What is minimised. A part: subclasses are chosen on the command line."""

    def __call__(
        self, model: Any, params: Any, batch: Any, *, key: jax.Array | None, groups: int
    ) -> Totals:
        """The batch's sums.

        Args:
            model: see `attnjax.models`.
            params: its parameters.
            batch: see `attnjax.data.batches`.
            key: of the dropout; None: there is none.
            groups: see `cross_entropy`.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class CrossEntropy(Objective):
    """Label-smoothed cross entropy under teacher forcing, see `cross_entropy`.

    Gives "loss" (smoothed), "nll" (not smoothed), both in nats, and "accuracy".

    Attributes:
        smoothing: the share of the target's probability that is spread over all words.
    """

    smoothing: float = 0.1

    def __call__(
        self, model: Any, params: Any, batch: Any, *, key: jax.Array | None, groups: int
    ) -> Totals:
        hidden, table = model.apply(
            {"params": params},
            batch.source,
            shifted(batch.target),
            deterministic=key is None,
            rngs={} if key is None else {"dropout": key},
            method="features",
        )
        sums = cross_entropy(hidden, table, batch.target, smoothing=self.smoothing, groups=groups)
        return {
            "loss": (sums.smoothed, sums.tokens),
            "nll": (sums.nll, sums.tokens),
            "accuracy": (sums.correct, sums.tokens),
        }


def shifted(target: jax.Array) -> jax.Array:
    """What a decoder is given to predict target [B, T]: START, then all of it but the last."""
    return jnp.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=START)
