"""The saturation of softmaxes, before and after training."""

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
from attnjax.evaluation.attention_numbers import entropy, jacobian_norm, logit_variance
from attnjax.evaluation.measurement import Measurement, MetricKey, Moment
from attnjax.evaluation.measures.alignment import shapes_of
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, check_distributions
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model, SymbolModel
from attnjax.training.objectives.base import shifted

NAMES = ("logit_variance", "weight_entropy", "jacobian_norm")


@dataclass(frozen=True, kw_only=True)
class Saturation(Measure):
    """Saturation of the model's softmaxes, with the initial and with the trained parameters.

    "logit_variance", "weight_entropy" (nats) and "jacobian_norm", each for both moments: the mean
    over all attentions of the model (of the variance: over those that have logits), see
    `attention_numbers`.

    Attributes:
        examples: the number of test sentences that are measured, the first ones.
        draws: the number of samples of the initial parameters whose mean is reported: the run's own
            and `draws` - 1 more. The mean varies less between seeds, for a claim on all initial
            parameters.
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
        own, drawn = jax.device_get(_saturation(inputs.model, inputs.params, batch)), {}
        if moment == "initial" and self.draws > 1:
            keys = jax.random.split(jax.random.key(inputs.seed), self.draws - 1)
            drawn = jax.device_get(_initial_saturation(inputs.model, keys, batch))
        means = {name: float(np.mean([value, *drawn.get(name, ())])) for name, value in own.items()}
        return [Measurement(MetricKey(name, moment=moment), mean) for name, mean in means.items()]


def check_attentions(measure: Measure, model: Model, corpus: Corpus) -> None:
    """Refuse, before training, a model without weights, or whose weights are no distribution."""
    check_distributions(measure, model)
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
    """Compute the saturation with parameters drawn from each key, none of which is a run's."""
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
