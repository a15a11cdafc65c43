"""How far a network that regresses in context is from one step of gradient descent."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batch_plan import Batch
from attnjax.data.batching import in_order
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Numbers
from attnjax.models.base import Model, SymbolModel


class GradientStep(NamedTuple):
    """One step of gradient descent on the squared error of known points, from w = 0.

    Attributes:
        rate: the rate with the smallest squared error at the queries.
        predicted: the prediction at each query, [examples].
        weights: w after the step, [examples, D]: the sensitivity of the prediction to the query.
    """

    rate: float
    predicted: np.ndarray
    weights: np.ndarray


def best_step(points: np.ndarray, queries: np.ndarray) -> GradientStep:
    """Return the step with the best rate, in float64, from points [n, N, D+1] and queries [n, D+1].

        w = rate sum over i of y_i x_i,   rate = sum of y a / sum of a^2,   a = (w / rate) . x

    The rate is the least-squares solution over all queries, whose y are read.
    """
    points, queries = points.astype(np.float64), queries.astype(np.float64)
    direction = np.einsum("nid,ni->nd", points[..., :-1], points[..., -1])
    along = (direction * queries[:, :-1]).sum(-1)
    rate = float(along @ queries[:, -1] / (along @ along))
    return GradientStep(rate, rate * along, rate * direction)


@dataclass(frozen=True, kw_only=True)
class OneGradientStep(Measure):
    """The test examples' predictions beside those of one step of gradient descent, see `best_step`.

        gap_to_one_step      squared error / that of the step - 1; 0: they are equally good
        sensitivity_cosine   mean cosine of the two derivatives of the prediction with respect to x
        relative_error       squared error / that of the answer 0

    One rate serves all examples, the best for these very examples, so that the step is not
    worsened by a search for its rate. An example is a data set of its own, with one query.

    Source: von Oswald et al. 2023, section 3 and Figure 2: losses, and the cosine of sensitivities.
    """

    numbers: ClassVar[Numbers] = {
        "gap_to_one_step": "lower",
        "sensitivity_cosine": "higher",
        "relative_error": "lower",
    }

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if isinstance(model, SymbolModel):
            raise UserError(
                f"OneGradientStep wants a model that predicts numbers; got {type(model).__name__}"
            )
        most = corpus.splits[SPLIT].target.lengths.max()
        if most != 1:
            raise UserError(
                "OneGradientStep wants test examples with one point that is asked for, such as "
                f"those of InContextRegression; got one with {most}"
            )

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        examples = inputs.corpus.splits[SPLIT]
        batching = inputs.batching.with_room(examples, shapes=1)
        found = []
        for chosen, batch in in_order(examples, batching):
            arrays = (*batch, *predict(inputs.model, inputs.params, batch))
            found.append([np.asarray(array, np.float64)[chosen >= 0] for array in arrays])
        points, queries, predicted, sensitivity = map(np.concatenate, zip(*found, strict=True))
        # a known point that is missing has neither coordinates nor a value
        step = best_step(np.nan_to_num(points), queries[:, 0])
        wanted = queries[:, 0, -1]
        error = ((predicted - wanted) ** 2).mean()
        lengths = np.linalg.norm(sensitivity, axis=-1) * np.linalg.norm(step.weights, axis=-1)
        cosine = (sensitivity * step.weights).sum(-1) / lengths
        return self.measured(
            error / ((step.predicted - wanted) ** 2).mean() - 1,
            cosine.mean(),
            error / (wanted**2).mean(),
        )


@partial(jax.jit, static_argnames="model")
def predict(model: Any, params: Any, batch: Batch) -> tuple[jax.Array, jax.Array]:
    """Compute the prediction [B] at each row's query, and its derivative [B, D] by the query."""

    def predictions(queries: jax.Array) -> tuple[jax.Array, jax.Array]:
        predicted = model.apply({"params": params}, batch.source, queries, deterministic=True)
        return predicted.sum(), predicted[:, 0]

    slopes, predicted = jax.grad(predictions, has_aux=True)(jnp.asarray(batch.target))
    return predicted, slopes[:, 0, :-1]
