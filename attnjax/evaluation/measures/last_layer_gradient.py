"""The initial gradient of the last layer, which depends on the position of the norms."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.config.constraints import PositiveInt
from attnjax.data.batch_plan import Batch
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.base import EvalInputs, Measure
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model
from attnjax.models.language_model import LanguageModel
from attnjax.models.transformer import Transformer
from attnjax.nn.paths import flat
from attnjax.training.objectives.base import CrossEntropy

KEY = MetricKey("last_layer_gradient", moment="initial")


@dataclass(frozen=True, kw_only=True)
class LastLayerGradient(Measure):
    """The norm of the loss's gradient in the last layer's feed-forward network, initially.

        || d loss / d W_2 ||_F,   FFN(x) = f(x W_1 + b_1) W_2 + b_2 of the layer below the output

    The loss is the cross-entropy per symbol. With a norm after each sum the gradient does not
    depend on the number of layers L, with a norm before each sub-layer it shrinks as 1 / sqrt(L).

    Attributes:
        examples: the number of test sentences that the loss is of, the first ones.

    Source: Xiong et al. 2020, theorem 1.
    """

    examples: PositiveInt = 64

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        return (KEY,)

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if not isinstance(model, Transformer | LanguageModel):
            raise UserError(
                "LastLayerGradient needs layers with feed-forward networks, those of a Transformer "
                f"or a LanguageModel; got {type(model).__name__}"
            )

    def at_init(self, inputs: EvalInputs) -> Sequence[Measurement]:
        norm = _norm(inputs.model, inputs.params, inputs.first(self.examples))
        return (Measurement(KEY, float(norm)),)


@partial(jax.jit, static_argnames=("model",))
def _norm(model: Any, params: Any, batch: Batch) -> jax.Array:
    def loss(params: Any) -> jax.Array:
        sums = CrossEntropy(smoothing=0.0)(model, params, (), batch, key=None)["loss"]
        return sums[0] / sums[1]

    gradients = {
        int(layer[1]): gradient
        for name, gradient in flat(jax.grad(loss)(params)).items()
        if (layer := re.match(r"(?:decoder_)?layers_(\d+)\.feed_forward\.out\.kernel", name))
    }
    return jnp.linalg.norm(gradients[max(gradients)])
