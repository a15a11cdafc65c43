"""How far softmaxes are saturated: why dot products are divided by sqrt(d_k).

With components of query and key independent, of mean 0 and variance 1, their dot product has mean
0 and variance d_k; large logits push the softmax to where its gradients are extremely small
(Vaswani et al. 2017, section 3.2.1 and footnote 4). The three functions measure that chain:
the logits' variance, the weights' entropy, and the size of the softmax's derivative.

Each takes [..., T, S] and a mask that broadcasts to it, True = attend, None = everywhere; computes
in float32 or wider; can be compiled; and returns the mean over rows. A row in which the mask
allows nothing counts nowhere, so a mask can also leave out queries that are padding. With no row
left the mean is NaN.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.batch_plan import Batch
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement, MetricKey, Moment
from attnjax.evaluation.measures.alignment import shapes_of
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model, SymbolModel
from attnjax.nn.dtypes import widen
from attnjax.training.objectives.base import shifted

NAMES = ("logit_variance", "weight_entropy", "jacobian_norm")
"""The names of the measurements of `Saturation`."""


def logit_variance(logits: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """The variance of a row's logits over its n allowed entries, sum (s - mean)^2 / (n - 1).

    Unbiased, so that it does not depend on n; a row with one allowed entry has none and is left
    out. Vaswani et al. 2017, footnote 4: d_k for unscaled dot products, 1 for scaled ones.
    """
    logits, allowed = _prepare(logits, mask)
    count = allowed.sum(-1, keepdims=True)
    mean = jnp.where(allowed, logits, 0).sum(-1, keepdims=True) / jnp.maximum(count, 1)
    square = jnp.where(allowed, (logits - mean) ** 2, 0).sum(-1)
    count = count[..., 0]
    return _mean(square / jnp.maximum(count - 1, 1), count > 1)


def entropy(weights: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """-sum p log p in nats, from 0 (one key has all the weight) to log n (all n have the same)."""
    weights, allowed = _prepare(weights, mask)
    weights = jnp.where(allowed, weights, 0)
    return _mean(-jax.scipy.special.xlogy(weights, weights).sum(-1), allowed.any(-1))


def jacobian_norm(weights: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """The Frobenius norm of the softmax's derivative J = diag(p) - p p^T, which is not formed.

        ||J||_F^2 = sum p^2 - 2 sum p^3 + (sum p^2)^2

    0 when one key has all the weight: no gradient reaches the logits.
    """
    weights, allowed = _prepare(weights, mask)
    p = jnp.where(allowed, weights, 0)
    # The closed form subtracts numbers near 1 exactly where its result is near 0, and is wrong
    # by 3e-4 there. Diagonal and off-diagonal entries are summed apart, as products of what is
    # small: (p_i (1 - p_i))^2, and p_i^2 times the squares of the others.
    square = p**2
    diagonal = (square * (1 - p) ** 2).sum(-1)
    largest = jax.nn.one_hot(p.argmax(-1), p.shape[-1], dtype=bool)
    rest = jnp.where(largest, 0, square).sum(-1, keepdims=True)
    others = jnp.where(largest, rest, square.sum(-1, keepdims=True) - square)
    return _mean(jnp.sqrt(diagonal + (square * others).sum(-1)), allowed.any(-1))


def _prepare(array: jax.Array, mask: jax.Array | None) -> tuple[jax.Array, jax.Array]:
    array = widen(jnp.asarray(array))
    return array, jnp.broadcast_to(True if mask is None else mask, array.shape)


def _mean(rows: jax.Array, counted: jax.Array) -> jax.Array:
    return jnp.where(counted, rows, 0).sum() / counted.sum()


@dataclass(frozen=True, kw_only=True)
class Saturation(Measure):
    """Saturation of the model's softmaxes, with the initial and with the trained parameters.

    "logit_variance", "weight_entropy" (nats) and "jacobian_norm", each for both moments: the mean
    over all attentions of the model (of the variance: over those that have logits). See the
    functions of the same names.

    Attributes:
        examples: the number of test sentences that are measured, the first ones.
        draws: of how many draws of the parameters an initial value is the mean: the run's own and
            `draws` - 1 more. It varies less between seeds, for a claim on all initial parameters.
    """

    examples: PositiveInt = 64
    draws: PositiveInt = 1

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        moments: tuple[Moment, ...] = ("initial", "trained")
        return [MetricKey(name, moment=moment) for moment in moments for name in NAMES]

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_attentions(self, model, corpus)

    def at_init(self, inputs: EvalInputs) -> Sequence[Measurement]:
        return self._measure(inputs, "initial")

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        return self._measure(inputs, "trained")

    def _measure(self, inputs: EvalInputs, moment: Moment) -> list[Measurement]:
        batch = inputs.first(self.examples)
        values = [jax.device_get(_saturation(inputs.model, inputs.params, batch))]
        if moment == "initial" and self.draws > 1:
            keys = jax.random.split(jax.random.key(inputs.seed), self.draws - 1)
            drawn = jax.device_get(_initial_saturation(inputs.model, keys, batch))
            values += [{name: of[n] for name, of in drawn.items()} for n in range(len(keys))]
        return [
            Measurement(
                MetricKey(name, moment=moment), float(np.mean([draw[name] for draw in values]))
            )
            for name in values[0]
        ]


def check_attentions(measure: Measure, model: Model, corpus: Corpus) -> None:
    """Refuse, before training, a model that shows no attention weights."""
    sown = isinstance(model, SymbolModel) and shapes_of(
        lambda *inputs: [attention.weights for attention in model.attentions(*inputs)],
        model,
        corpus.splits[SPLIT][0],
    )
    if not sown:
        raise UserError(
            f"{type(measure).__name__} needs a model that shows its attention weights; this "
            f"{type(model).__name__} shows none"
        )


@partial(jax.jit, static_argnames=("model",))
def _initial_saturation(model: Any, keys: jax.Array, batch: Batch) -> dict[str, jax.Array]:
    """The saturation with parameters drawn from each key; those of a run are drawn from another."""
    source, target = jnp.asarray(batch.source), jnp.asarray(batch.target)

    def of(key: jax.Array) -> dict[str, jax.Array]:
        variables = model.init(key, source[:1], target[:1], deterministic=True)
        return _saturation(model, variables["params"], batch)

    return jax.lax.map(of, keys)


@partial(jax.jit, static_argnames=("model",))
def _saturation(model: Any, params: Any, batch: Batch) -> dict[str, jax.Array]:
    statistics: dict[str, list[jax.Array]] = defaultdict(list)
    decoder_input = shifted(jnp.asarray(batch.target))
    for attention in model.attentions(params, jnp.asarray(batch.source), decoder_input):
        if attention.logits is not None:
            statistics["logit_variance"].append(logit_variance(attention.logits, attention.mask))
        statistics["weight_entropy"].append(entropy(attention.weights, attention.mask))
        statistics["jacobian_norm"].append(jacobian_norm(attention.weights, attention.mask))
    return {name: jnp.stack(values).mean() for name, values in statistics.items()}
