"""What a training is told, beside its model, data, objective and optimizer."""

from dataclasses import dataclass, field
from typing import Literal

from attnjax.config.constraints import PositiveInt
from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Training:
    """How long, on what, and how exactly to train.

    Attributes:
        steps: the updates after which training ends.
        patience: it ends earlier after so many epochs in a row without a lower validation loss.
        average: the result is the mean of the parameters at the ends of so many last epochs.
        parallel: how a step runs on several devices, see `attnjax.training.sharding`.
        precision: what the model computes in; parameters, updates and the loss stay float32.
        batching: how sentences are put into batches.
    """

    steps: PositiveInt = 1000
    patience: PositiveInt | None = None
    average: PositiveInt = 1
    parallel: Literal["mesh", "pmap"] = "mesh"
    precision: Literal["float32", "bfloat16"] = "float32"
    batching: Batching = field(default_factory=Batching)

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that it cannot train on.

        Raises:
            UserError: no training examples, patience without validation examples, or as
                `Batching.check`.
        """
        if not corpus.splits.get("train"):
            raise UserError("the corpus has no training examples")
        valid = corpus.splits.get("valid")
        if self.patience is not None and not valid:
            raise UserError("training.patience needs validation examples, and the corpus has none")
        for split in ("train", "valid") if valid else ("train",):
            self.batching.check(corpus.splits[split], f" of the {split} split")
