"""The error of a regression against the truth, and pictures of the points it averages over."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batching import Batch, in_order
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Picture
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model, SymbolModel
from attnjax.training.objectives.squared_error import squared_error

CELLS = 10
"""The most columns and rows of a picture: the single weights of many points are too pale to see."""


@dataclass(frozen=True, kw_only=True)
class RegressionError(Measure):
    """The mean of (prediction - truth)^2 over the test split: "squared_error", in y's unit squared.

    Lower is better. Only the examples of the run's own seed count, see `Batching.examples_of_seed`.

    In the picture neighboring points share a column and neighboring queries a row: a cell is the
    weight that its queries give to all of its points, averaged over the queries. Labels are the
    mean first coordinates.
    """

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        return (MetricKey("squared_error"),)

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if isinstance(model, SymbolModel):
            raise UserError(
                f"RegressionError wants a model that predicts numbers; got {type(model).__name__}"
            )

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        sums = [_error(inputs.model, inputs.params, batch) for _, batch in _batches(inputs)]
        (total, count), (key,) = np.sum(jax.device_get(sums), 0), self.keys(None)
        return [Measurement(key, float(total / count), better="lower")]

    def pictures(self, inputs: EvalInputs) -> Sequence[Picture]:
        _, batch = next(_batches(inputs))
        weights = _alignment(inputs.model, inputs.params, batch)
        return [_picture(batch.source[0], batch.target[0], np.asarray(weights[0]))]


def _batches(inputs: EvalInputs) -> Iterator[tuple[np.ndarray, Batch]]:
    examples = inputs.batching.examples_of_seed(inputs.corpus.splits[SPLIT], inputs.seed)
    return in_order(examples, inputs.batching.with_room(examples, shapes=1))


@partial(jax.jit, static_argnames=("model",))
def _error(model: Any, params: Any, batch: Batch) -> tuple[jax.Array, jax.Array]:
    predicted = model.apply({"params": params}, batch.source, batch.target, deterministic=True)
    return squared_error(predicted, jnp.asarray(batch.target[..., -1]))


@partial(jax.jit, static_argnames=("model",))
def _alignment(model: Any, params: Any, batch: Batch) -> jax.Array:
    return model.alignment(params, batch.source, batch.target)


def _picture(known: np.ndarray, asked: np.ndarray, weights: np.ndarray) -> Picture:
    """The weights [T, S] of points [S, D+1] for queries [T, D+1], put together."""
    columns, rows = (
        np.array_split(np.arange(len(points)), min(CELLS, len(points))) for points in (known, asked)
    )
    shares = [[weights[np.ix_(row, column)].sum(1).mean() for column in columns] for row in rows]
    return Picture(
        source=tuple(f"{known[column, 0].mean():.1f}" for column in columns),
        target=tuple(f"{asked[row, 0].mean():.1f}" for row in rows),
        weights=tuple(tuple(row) for row in np.asarray(shares, float).round(4).tolist()),
    )
