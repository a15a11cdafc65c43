"""The objective of labels at some places of a source."""

from dataclasses import dataclass
from typing import Any

from attnjax.models.labeler import check_labeler
from attnjax.training.objectives.base import Key, Objective, Totals, streams
from attnjax.training.objectives.cross_entropy import cross_entropy


@dataclass(frozen=True, kw_only=True)
class LabelEntropy(Objective):
    """The cross entropy of the labels at the asked places, the mean over all places of a batch.

        loss = sum over asked places s of -log p(label at s | source) / number of asked places

    Gives "loss", in nats, and "accuracy". Logits are computed at the asked places alone.
    """

    def check(self, model: Any) -> None:
        check_labeler(model, "LabelEntropy")

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        rngs = streams(key)
        places, labels = batch.target[..., 0], batch.target[..., 1]
        hidden, table = model.apply(
            {"params": params},
            batch.source,
            places,
            deterministic=not rngs,
            rngs=rngs,
            method="labels",
        )
        totals = cross_entropy(hidden, table, labels, smoothing=0.0)
        return {name: totals[name] for name in ("loss", "accuracy")}
