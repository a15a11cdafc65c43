"""What a training minimizes, as sums over tokens that add up over devices and batches."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp

from attnjax.config.constraints import DropoutRate
from attnjax.data.special_tokens import START
from attnjax.errors import UserError
from attnjax.models.base import SequenceModel
from attnjax.training.objectives.cross_entropy import cross_entropy

type Totals = dict[str, tuple[jax.Array, jax.Array]]
"""A name's (sum, count), both of float32 or wider; "loss" is what is minimized."""


@dataclass(frozen=True, kw_only=True)
class Objective(ABC):
    """What is minimized. A part: subclasses are chosen on the command line."""

    def check(self, model: Any) -> None:
        """Refuse a model that this objective cannot train, before anything is trained.

        Raises:
            UserError: the model predicts something else than the objective compares.
        """
        del model

    def initial(self) -> Any:
        """The state before the first update: a pytree of arrays, saved in checkpoints."""
        return ()

    @abstractmethod
    def __call__(
        self, model: Any, params: Any, state: Any, batch: Any, *, key: jax.Array | None
    ) -> Totals:
        """The sums of a batch; they add up over devices and batches.

        Args:
            model: see `attnjax.models`.
            params: its parameters.
            state: what `initial` and `update_state` returned.
            batch: see `attnjax.data.batching`.
            key: of dropout and of all that is sampled; None: neither happens.

        Returns:
            "loss", whose sum is minimized, and any other metrics.
        """

    def update_state(self, state: Any, totals: Totals) -> Any:
        """The state after an update with these sums over all devices."""
        del totals
        return state


@dataclass(frozen=True, kw_only=True)
class CrossEntropy(Objective):
    """Label-smoothed cross entropy under teacher forcing, see `cross_entropy`.

    Gives "loss" (smoothed), "nll" (not smoothed), both in nats, and "accuracy".

    Attributes:
        smoothing: the share of the target's probability that is spread over all words.
    """

    smoothing: DropoutRate = 0.1

    def check(self, model: Any) -> None:
        if not isinstance(model, SequenceModel):
            raise UserError(
                f"{type(self).__name__} wants a model of sequences; got {type(model).__name__}"
            )

    def __call__(
        self, model: Any, params: Any, state: Any, batch: Any, *, key: jax.Array | None
    ) -> Totals:
        del state
        hidden, table = features(model, params, batch.source, shifted(batch.target), streams(key))
        return self.totals(hidden, table, batch.target)

    def totals(self, hidden: jax.Array, table: jax.Array, target: jax.Array) -> Totals:
        """The sums, from what the logits are the product of."""
        sums = cross_entropy(hidden, table, target, smoothing=self.smoothing)
        return {
            "loss": (sums.smoothed, sums.tokens),
            "nll": (sums.nll, sums.tokens),
            "accuracy": (sums.correct, sums.tokens),
        }


def features(
    model: Any,
    params: Any,
    source: jax.Array,
    decoder_input: jax.Array,
    rngs: dict[str, jax.Array],
    mutable: list[str] | Literal[False] = False,
) -> Any:
    """The model's `features` of a batch, and the collections that it sows if they are asked for.

    Args:
        model: see `attnjax.models`.
        params: its parameters.
        source: [B, S, ...].
        decoder_input: [B, T]; under teacher forcing `shifted` targets.
        rngs: the streams of all that is random; none: nothing is.
        mutable: the collections asked for; they come second then.
    """
    return model.apply(
        {"params": params},
        source,
        decoder_input,
        deterministic=not rngs,
        rngs=rngs,
        method="features",
        mutable=mutable,
    )


def streams(key: jax.Array | None) -> dict[str, jax.Array]:
    """The random streams of a training step; none without a key."""
    return {} if key is None else {"dropout": key, "sample": jax.random.fold_in(key, 1)}


def shifted(target: jax.Array) -> jax.Array:
    """What a decoder is given to predict target [B, T]: START, then all of it but the last."""
    return jnp.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=START)
