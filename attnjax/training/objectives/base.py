"""Objectives: losses as sums over tokens, which add up over devices and batches."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.config.constraints import DropoutRate
from attnjax.data.batch_plan import PackedBatch
from attnjax.data.special_tokens import PAD, START
from attnjax.errors import UserError
from attnjax.models.base import PackingModel, SymbolModel
from attnjax.models.packed_rows import sentence_starts
from attnjax.training.objectives.cross_entropy import Totals, cross_entropy

type Key = jax.Array | None
"""The random key of a training step; None: there is neither dropout nor sampling."""

type Streams = dict[str, jax.Array]
"""A key for each of a model's random streams, "dropout" and "sample"; {}: nothing is random."""


@dataclass(frozen=True, kw_only=True)
class Objective(ABC):
    """The loss that training minimizes. A part: subclasses are chosen on the command line."""

    def check(self, model: Any) -> None:
        """Refuse, before training, a model that this objective cannot train."""
        del model

    def check_packing(self, model: Any, length: int) -> None:
        """Refuse, before training, packed rows of a length that model or objective cannot read."""
        raise _one_example_a_row(type(self).__name__)

    def initial(self) -> Any:
        """Return the initial state of the objective: a pytree of arrays, saved in checkpoints."""
        return ()

    @abstractmethod
    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        """Return the sums and counts of a batch; they add up over devices and batches.

        The state is what `initial` or `update_state` returned. "loss" is minimized; the other
        metrics are any.
        """

    def update_state(self, state: Any, totals: Totals) -> Any:
        """Return the state after an update; `totals` are summed over all devices."""
        return state


@dataclass(frozen=True, kw_only=True)
class CrossEntropy(Objective):
    """Label-smoothed cross entropy under teacher forcing; see `cross_entropy`.

    Gives "loss" (smoothed), "nll" (not smoothed), both in nats, and "accuracy".
    """

    smoothing: DropoutRate = 0.1  # the share of the target's probability spread over all words

    def check(self, model: Any) -> None:
        if not isinstance(model, SymbolModel):
            raise UserError(
                f"{type(self).__name__} needs a sequence model; got {type(model).__name__}"
            )

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        hidden, table = features_of(model, params, batch, streams(key))
        return self.totals(hidden, table, batch.target)

    def check_packing(self, model: Any, length: int) -> None:
        if type(self).__call__ is not CrossEntropy.__call__:
            return super().check_packing(model, length)
        if not isinstance(model, PackingModel):
            raise _one_example_a_row(f"a {type(model).__name__}")
        return model.check_packing(length)

    def totals(self, hidden: jax.Array, table: jax.Array, target: jax.Array) -> Totals:
        """Return sums and counts, from hidden vectors [B, T, D] and the output embedding [V, D]."""
        return cross_entropy(hidden, table, target, smoothing=self.smoothing)


def _one_example_a_row(reader: str) -> UserError:
    return UserError(
        f"{reader} reads one example a row, and training.batching packs several: "
        "--training.batching:batching"
    )


def features_of(model: Any, params: Any, batch: Any, rngs: Streams, **options: Any) -> Any:
    """Return the model's `features` of a batch under teacher forcing, packed or not."""
    words = shifted(batch.target)
    if isinstance(batch, PackedBatch):
        # START stands before each sentence, and padding stays PAD
        words = jnp.where(sentence_starts(batch.target_sentence), START, words)
        words = jnp.where(batch.target == PAD, PAD, words)
        options["packing"] = batch.packing
    return features(model, params, batch.source, words, rngs, **options)


def features(
    model: Any, params: Any, source: Any, decoder_input: jax.Array, rngs: Streams, **options: Any
) -> Any:
    """Call the model's `features`; `options` go to that method or to Linen's `apply`."""
    return model.apply(
        {"params": params},
        source,
        decoder_input,
        deterministic=not rngs,
        rngs=rngs,
        method="features",
        **options,
    )


def streams(key: Key) -> Streams:
    """Return the random streams of a training step."""
    return {} if key is None else {"dropout": key, "sample": jax.random.fold_in(key, 1)}


def shifted(target: jax.Array) -> jax.Array:
    """Return the decoder input for teacher forcing: START, the target [B, T] but its last word.

    Places with labels, [B, K, 2], are returned as they are: no label is read.
    """
    if target.ndim == 3:
        return target
    return jnp.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=START)
