"""The weight that words with nothing to look for give to the first word."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.attention import Attention
from attnjax.config.constraints import PositiveInt
from attnjax.config.walk import walk
from attnjax.data.batch_plan import Batch
from attnjax.data.corpus import Corpus
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import EvalInputs, Measure, Numbers
from attnjax.models.base import Model
from attnjax.models.labeler import Labeler


@dataclass(frozen=True, kw_only=True)
class Sinks(Measure):
    """The weight on the first word, an attention sink, from words at which nothing is asked.

        sink_weight   mean over these words, heads and layers of the weight on the first word
        sink_share    the sum of those weights / the sum of all weights of the same rows

    Both are equal where rows sum to 1; with an open align, such as `ReLU`, a row may have
    little weight, or none, and the share says where that little goes. The first word itself, which
    sees nothing else, does not count. A head that looks at all words alike has the mean of 1 over
    the number of words that each sees.

    Attributes:
        examples: the number of test examples, the first ones.

    Source: Xiao et al. 2024 (attention sinks); Guo et al. 2024, of `BigramBackcopy`.
    """

    numbers: ClassVar[Numbers] = {"sink_weight": None, "sink_share": None}

    examples: PositiveInt = 64

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        shown = any(isinstance(part, Attention) for _, part in walk(model))
        if not (isinstance(model, Labeler) and shown):
            raise UserError(
                "Sinks wants a Labeler with an attention that shows its weights; got a "
                f"{type(model).__name__}{' without one' if isinstance(model, Labeler) else ''}"
            )

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        sums = jax.device_get(_sums(inputs.model, inputs.params, inputs.first(self.examples)))
        first, all_keys, rows = np.sum(sums, axis=0, dtype=np.float64)
        return self.measured(first / rows, first / all_keys if all_keys else 0.0)


@partial(jax.jit, static_argnames=("model",))
def _sums(model: Any, params: Any, batch: Batch) -> jax.Array:
    """Sum, in each attention, the weights on the first word, all weights, and the rows, [L, 3]."""
    source, asked = jnp.asarray(batch.source), jnp.asarray(batch.target)
    places, labels = asked[..., 0], asked[..., 1]
    position = jnp.arange(source.shape[1])[None]
    asks = ((places[..., None] == position[None]) & (labels != PAD)[..., None]).any(1)
    idle = ((source != PAD) & ~asks & (position > 0))[:, None, :, None]
    sums = []
    for attention in model.attentions(params, source, asked):
        weights = jnp.where(idle, attention.weights, 0)
        rows = jnp.broadcast_to(idle, (*weights.shape[:-1], 1)).sum()
        sums.append(jnp.stack([weights[..., 0].sum(), weights.sum(), rows]))
    return jnp.stack(sums)
