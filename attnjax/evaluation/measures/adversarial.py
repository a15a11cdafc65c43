"""A search for different weights with the same prediction: adversarial attention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Ge
from jaxtyping import Array, Bool, Float

from attnjax.attention.attention import Attention
from attnjax.attention.pool import WeightedSum
from attnjax.config.constraints import PositiveInt
from attnjax.data.batch_plan import Batch
from attnjax.data.corpus import Corpus
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.evaluation.attention_numbers import jensen_shannon
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import EvalInputs, Measure, Numbers, check_distributions
from attnjax.models.base import Model
from attnjax.models.classifier import Classifier
from attnjax.training.objectives.base import shifted

PENALTY, RATE, SPREAD = 500.0, 0.01, 3.0
"""lambda, Adam's rate, and the standard deviation of the first logits, as Jain & Wallace's."""


@dataclass(frozen=True, kw_only=True)
class AdversarialAttention(Measure):
    """How far a search moves a classifier's weights while its prediction stays the same.

        maximize   JS(a, learned)   for   TVD(y(a), y(learned)) <= tolerance
        TVD(y, z) = sum |y - z| / 2

    Adam seeks the weights a, a softmax of free logits, with the loss
    500 max(0, TVD - tolerance) - JS; the greatest divergence of all steps counts. The number,
    "adversarial_divergence", is the mean over sentences, in nats, up to ln 2 (disjoint weights
    predict the same); result.json has each sentence's under "adversarial".

    It is the most that the search finds, a lower bound: far more may be possible, so a small number
    does not say that other weights predict something else. More `starts` and `steps` find more;
    numbers compare only where these are equal.

    Attributes:
        examples: the number of test sentences, the first ones.
        tolerance: the largest total variation distance of the two predictions.
        starts: the number of random starts, the farthest of which counts.
        steps: the number of updates of each start.

    Source: Jain & Wallace 2019, section 4.2.2. Their starts are also driven apart from each other.
    """

    numbers: ClassVar[Numbers] = {"adversarial_divergence": None}

    examples: PositiveInt = 64
    tolerance: Annotated[float, Ge(0)] = 0.01
    starts: PositiveInt = 5
    steps: PositiveInt = 500

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_distributions(self, model)
        attention = getattr(model, "attention", None)
        weighs = isinstance(attention, Attention) and isinstance(attention.pool, WeightedSum)
        if not (weighs and isinstance(model, Classifier)):
            raise UserError(
                "AdversarialAttention needs a Classifier with the attention Attention, whose pool "
                f"is WeightedSum; got a {type(model).__name__} with {type(attention).__name__}"
            )

    def with_details(self, inputs: EvalInputs) -> tuple[Sequence[Measurement], Mapping[str, Any]]:
        batch = inputs.first(self.examples)
        logits, learned = _by_position(inputs.model, inputs.params, batch)
        mask = batch.source != PAD
        divergence = adversarial_divergence(
            logits,
            learned,
            mask,
            self.tolerance,
            jax.random.key(inputs.seed),
            starts=self.starts,
            steps=self.steps,
        )
        divergence = np.asarray(divergence)[mask.any(-1)]
        return self.measured(float(divergence.mean())), {"adversarial": divergence.tolist()}


@partial(jax.jit, static_argnames=("model",))
def _by_position(model: Any, params: Any, batch: Batch) -> tuple[jax.Array, jax.Array]:
    """Return the logits of each position, [B, S, V], and its learned weight, [B, S]."""
    source, decoder_input = jnp.asarray(batch.source), shifted(jnp.asarray(batch.target))
    logits = model.apply({"params": params}, source, method="place_logits")
    return logits, model.alignment(params, source, decoder_input)[:, 0]


@partial(jax.jit, static_argnames=("starts", "steps"))
def adversarial_divergence(
    logits: Float[Array, "B S V"],
    learned: Float[Array, "B S"],
    mask: Bool[Array, "B S"],
    tolerance: float,
    key: Array,
    *,
    starts: int,
    steps: int,
) -> Float[Array, " B"]:
    """Search for the greatest divergence from learned weights with the same prediction.

    `logits` are those of each position if it had all the weight: a prediction is the softmax of
    their mean, weighted by the attention. See `AdversarialAttention`.
    """
    before = jax.nn.softmax(jnp.einsum("bs,bsv->bv", learned, logits))[:, None]

    def loss(free: jax.Array) -> tuple[jax.Array, jax.Array]:
        weights = jax.nn.softmax(jnp.where(mask[:, None], free, jnp.finfo(free.dtype).min))
        after = jax.nn.softmax(jnp.einsum("bks,bsv->bkv", weights, logits))
        change = jnp.abs(after - before).sum(-1) / 2
        apart = jensen_shannon(weights, learned[:, None])
        kept = jnp.where(change <= tolerance, apart, 0).max(-1)
        return (PENALTY * jax.nn.relu(change - tolerance) - apart).sum(), kept

    def step(carry: Any, _: None) -> tuple[Any, jax.Array]:
        free, state = carry
        gradient, kept = jax.grad(loss, has_aux=True)(free)
        updates, state = adam.update(gradient, state)
        return (free + updates, state), kept

    adam = optax.adam(RATE)
    free = SPREAD * jax.random.normal(key, (len(mask), starts, mask.shape[1]))
    _, kept = jax.lax.scan(step, (free, adam.init(free)), length=steps)
    return kept.max(0)
