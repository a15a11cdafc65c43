"""`Training`, the settings of the training loop, and `Recipe`, everything that training needs."""

from dataclasses import dataclass, field
from typing import Any, Literal

from attnjax.config.constraints import PositiveInt
from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.training.objectives.base import Objective
from attnjax.training.optimizers import Optimizer

type Precision = Literal["float32", "bfloat16"]


@dataclass(frozen=True, kw_only=True)
class Training:
    """How long, on which batches, and in which precision a model is trained.

    Attributes:
        steps: the number of updates.
        patience: the number of epochs in a row without a lower validation loss after which training
            ends early; None: training never ends early.
        average: the number of last epochs whose final parameters are averaged.
        parallel: how a step runs on several devices, see `attnjax.training.sharding`.
        precision: the dtype of the model's computation; parameters, updates and loss stay float32.
        batching: how sentences are put into batches.
    """

    steps: PositiveInt = 1000
    patience: PositiveInt | None = None
    average: PositiveInt = 1
    parallel: Literal["mesh", "pmap"] = "mesh"
    precision: Precision = "float32"
    batching: Batching = field(default_factory=Batching)

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that cannot be trained on.

        Raises:
            UserError: there are no training examples, `patience` has no validation examples, or as
                `Batching.check`.
        """
        if not corpus.splits.get("train"):
            raise UserError("the corpus has no training examples")
        valid = corpus.splits.get("valid")
        if self.patience is not None and not valid:
            raise UserError("training.patience needs validation examples, and the corpus has none")
        for split in ("train", "valid") if valid else ("train",):
            self.batching.check(corpus.splits[split], f" of the {split} split")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides a training except data and seed.

    Attributes:
        model: see `attnjax.models`; its vocabularies are filled in.
        objective: the loss that training minimizes.
        optimizer: how gradients change the parameters.
        training: how long training lasts, and on which batches.
    """

    model: Any
    objective: Objective
    optimizer: Optimizer
    training: Training
