"""How far a regression is from the truth, and from which points it takes its values."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batching import Batch, in_order
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure
from attnjax.models.base import Model
from attnjax.models.kernel_regression import KernelRegression
from attnjax.training.objectives.squared_error import squared_error

CELLS = 10
"""A picture has at most so many columns and rows; single weights of many points are too pale."""


@dataclass(frozen=True, kw_only=True)
class RegressionError(Measure):
    """The mean of (prediction - truth)^2 over the test split: "squared_error", in y's unit squared.

    Only those examples count that the run is about, see `Batching.examples_of_seed`.

    Pictures have the points and the queries in their order, neighbours put together: a cell is the
    weight that its queries give to all of its points, on average over the queries. Labels are the
    mean first coordinate.
    """

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if not isinstance(model, KernelRegression):
            raise UserError(
                f"RegressionError wants a model that predicts numbers; got {type(model).__name__}"
            )

    def trained(self, subject: EvalInputs) -> dict[str, float]:
        sums = [_error(subject.model, subject.params, batch) for _, batch in _batches(subject)]
        total, count = np.sum(jax.device_get(sums), 0)
        return {"squared_error": float(total / count)}

    def pictures(self, subject: EvalInputs) -> list[dict[str, Any]]:
        _, batch = next(_batches(subject))
        weights = _alignment(subject.model, subject.params, batch)
        return [_picture(batch.source[0], batch.target[0], np.asarray(weights[0]))]


def _batches(subject: EvalInputs) -> Iterator[tuple[np.ndarray, Batch]]:
    examples = subject.batching.examples_of_seed(subject.corpus.splits[SPLIT], subject.seed)
    return in_order(examples, subject.batching.with_room(examples, shapes=1))


@partial(jax.jit, static_argnames=("model",))
def _error(model: Any, params: Any, batch: Batch) -> tuple[jax.Array, jax.Array]:
    predicted = model.apply({"params": params}, batch.source, batch.target, deterministic=True)
    return squared_error(predicted, jnp.asarray(batch.target[..., -1]))


@partial(jax.jit, static_argnames=("model",))
def _alignment(model: Any, params: Any, batch: Batch) -> jax.Array:
    return model.alignment(params, batch.source, batch.target)


def _picture(known: np.ndarray, asked: np.ndarray, weights: np.ndarray) -> dict[str, Any]:
    """The weights [T, S] of points [S, D+1] for queries [T, D+1], put together."""
    columns, rows = (
        np.array_split(np.arange(len(points)), min(CELLS, len(points))) for points in (known, asked)
    )
    shares = [[weights[np.ix_(row, column)].sum(1).mean() for column in columns] for row in rows]
    return {
        "source": [f"{known[column, 0].mean():.1f}" for column in columns],
        "target": [f"{asked[row, 0].mean():.1f}" for row in rows],
        "weights": np.asarray(shares, float).round(4).tolist(),
        "gold": [],
    }
