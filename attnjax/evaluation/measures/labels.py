"""The share of labels that are right, at lengths seen in training and beyond."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.batch_plan import Batch
from attnjax.data.batching import in_order
from attnjax.data.corpus import Corpus
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Numbers
from attnjax.evaluation.metric import Metric
from attnjax.models.base import Model
from attnjax.models.labeler import check_labeler

SHAPES = 4
"""The largest number of shapes of batches: compiling another costs more time than padding."""


@dataclass(frozen=True, kw_only=True)
class LabelAccuracy(Measure):
    """The share of labels of the test split that are right: the most probable one is.

    "label_accuracy" counts labels, "all_labels" examples of which every label is right. If
    `longest` is given, both are those of the sources that are at most so many words long. Of the
    longer ones "label_accuracy_beyond" and "all_labels_beyond" are the means, over their lengths,
    of the same shares at each length, as Deletang et al. 2023, section 4, score generalization.

    Attributes:
        longest: the number of words of the longest source of training; None: lengths do not matter.
    """

    numbers: ClassVar[Numbers] = dict.fromkeys(
        ("label_accuracy", "all_labels", "label_accuracy_beyond", "all_labels_beyond"), "higher"
    )
    shares = frozenset(numbers)

    longest: PositiveInt | None = None

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        keys = super().keys(metric)
        return keys if self.longest is not None else keys[:2]

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_labeler(model, "LabelAccuracy")
        lengths = corpus.splits[SPLIT].source.lengths
        if self.longest is not None and not lengths.min() <= self.longest < lengths.max():
            raise UserError(
                f"LabelAccuracy.longest={self.longest} must part the lengths of the test sources, "
                f"{lengths.min()} to {lengths.max()}"
            )

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        examples = inputs.corpus.splits[SPLIT]
        right = np.zeros((len(examples), 2))
        batching = inputs.batching.with_room(examples, shapes=SHAPES)
        for indices, batch in in_order(examples, batching):
            counts = np.asarray(_right_and_asked(inputs.model, inputs.params, batch))
            right[indices[indices >= 0]] = counts[indices >= 0]
        values = shares(right, examples.source.lengths, self.longest)
        keys = zip(self.keys(None), values, strict=True)
        return [Measurement(key, value, "higher") for key, value in keys]


def shares(right: np.ndarray, lengths: np.ndarray, longest: int | None) -> list[float]:
    """Return the numbers of `LabelAccuracy`.

    Args:
        right: [N, 2], the labels that are right and those that are asked for, by example.
        lengths: [N], the number of words of each source.
        longest: as the field of `LabelAccuracy`.
    """
    seen = lengths <= (lengths.max() if longest is None else longest)
    values = [*_shares(right[seen])]
    if longest is not None:
        beyond = [_shares(right[lengths == length]) for length in np.unique(lengths[~seen])]
        values.extend(np.mean(beyond, axis=0).tolist())
    return values


def _shares(right: np.ndarray) -> tuple[float, float]:
    """Return the shares of right labels and of right examples, from [N, 2] right and asked."""
    return float(right[:, 0].sum() / right[:, 1].sum()), float((right[:, 0] == right[:, 1]).mean())


@partial(jax.jit, static_argnames=("model",))
def _right_and_asked(model: Any, params: Any, batch: Batch) -> jax.Array:
    """Count in each row the labels that are right and those that are asked for, [B, 2]."""
    source, asked = jnp.asarray(batch.source), jnp.asarray(batch.target)
    labels = asked[..., 1]
    found = model.apply({"params": params}, source, asked, deterministic=True).argmax(-1)
    right = (found == labels) & (labels != PAD)
    return jnp.stack([right.sum(-1), (labels != PAD).sum(-1)], -1)
