"""The squared error, for models that predict numbers."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.config.constraints import PositiveFloat
from attnjax.errors import UserError
from attnjax.models.base import SymbolModel
from attnjax.nn.dtypes import wide
from attnjax.training.objectives.base import Key, Objective, Totals, streams


def squared_error(predicted: jax.Array, target: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the sum of (predicted - target)^2 over targets [..., T] but NaN, and their count."""
    dtype = wide(predicted, target)
    known = ~jnp.isnan(target)
    # the target is made finite first: the gradient of a branch not taken is multiplied by 0
    difference = predicted.astype(dtype) - jnp.where(known, target, 0).astype(dtype)
    error = jnp.where(known, difference, 0) ** 2
    return error.sum(), known.astype(dtype).sum()


@dataclass(frozen=True, kw_only=True)
class SquaredError(Objective):
    """The mean squared error; the target is the last column of the batch's targets [B, T, D+1]."""

    def check(self, model: Any) -> None:
        if isinstance(model, SymbolModel):
            raise UserError(
                f"{type(self).__name__} needs a model that predicts numbers; got "
                f"{type(model).__name__}, a model of sequences"
            )

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        rngs = streams(key)
        predicted = model.apply(
            {"params": params}, batch.source, batch.target, deterministic=not rngs, rngs=rngs
        )
        return {"loss": squared_error(predicted, batch.target[..., -1])}


@dataclass(frozen=True, kw_only=True)
class SquaredErrorWithin(SquaredError):
    """`SquaredError`, and as "accuracy" the share of targets predicted to within a tolerance.

    A prediction counts as right if |predicted - target| < tolerance.

    Source: Raffel & Ellis 2015, section 2: 0.04.
    """

    tolerance: PositiveFloat = 0.04

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        rngs = streams(key)
        predicted = model.apply(
            {"params": params}, batch.source, batch.target, deterministic=not rngs, rngs=rngs
        )
        target = batch.target[..., -1]
        loss, count = squared_error(predicted, target)
        # a target of padding is NaN, which is near nothing
        right = (jnp.abs(predicted - target) < self.tolerance).astype(count.dtype).sum()
        return {"loss": (loss, count), "accuracy": (right, count)}
