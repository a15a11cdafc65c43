"""`Training`, the settings of the training loop, and `Recipe`, everything that training needs."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from attnjax.config.constraints import NonNegativeInt, PositiveInt
from attnjax.config.walk import walk
from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.data.packed import Packed
from attnjax.errors import UserError
from attnjax.nn.norm import Norm
from attnjax.training.objectives.base import Objective
from attnjax.training.optimizers import Optimizer

type Precision = Literal["float32", "bfloat16", "bfloat16_products"]
type EpochOrder = Literal["last", "best"]
type Parallel = Literal["mesh", "pmap", "fsdp"]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """Decoding and scoring of the validation split during a training, by the experiment's metric.

    Attributes:
        every: the number of epochs from one score to the next; the last epoch is always scored.
        sentences: the number of examples, from the first of the split on, that are decoded.
        decides: what `patience`, `result` and `keep_best` go by: the validation loss or the score.
    """

    every: PositiveInt = 1
    sentences: PositiveInt = 200
    decides: Literal["loss", "score"] = "loss"

    def __post_init__(self) -> None:
        if self.decides == "score" and self.every > 1:
            raise UserError(
                "a score that decides wants every epoch scored: training.scoring.every must be 1; "
                f"got {self.every}"
            )


@dataclass(frozen=True, kw_only=True)
class Training:
    """How long, on which batches, and in which precision a model is trained.

    Attributes:
        patience: the number of epochs in a row without a lower validation loss after which training
            ends early; None: training never ends early.
        average: the number of epochs whose final parameters are averaged.
        result: which epochs these are: the last ones, or those of the lowest validation loss.
        keep_last: the number of last epochs whose checkpoints are kept on disk.
        keep_best: the number of epochs of the lowest validation loss whose checkpoints are kept.
            What is averaged is kept in any case.
        parallel: how a step runs on several devices, all with the same result: "mesh" and "pmap"
            hold the state on every device, "fsdp" a slice on each.
        precision: the dtype of the model's computation; parameters, updates and loss stay float32.
            "bfloat16_products": float32, but the operands of products are rounded to bfloat16, as a
            TPU does by default, see `attnjax.nn.product`.
        batching: how sentences are put into batches; its `max_tokens` is the size of a batch on
            all devices together.
        not_finite: what happens if a loss or a gradient is not finite: "stop" ends the run, "skip"
            leaves the update out; after 10 of them in a row the run ends.
        scoring: None: of the validation split the loss alone is computed.
        device_tokens: the largest size of what a device computes at once, padding counted: a larger
            share of a batch is cut into micro-batches, which saves memory and changes no result.
            None: its whole share.
    """

    steps: PositiveInt = 1000
    patience: PositiveInt | None = None
    average: PositiveInt = 1
    result: EpochOrder = "last"
    keep_last: PositiveInt = 1
    keep_best: NonNegativeInt = 0
    parallel: Parallel = "mesh"
    precision: Precision = "float32"
    batching: Batching = field(default_factory=Batching)
    device_tokens: PositiveInt | None = None
    not_finite: Literal["stop", "skip"] = "stop"
    scoring: Scoring | None = None

    @property
    def needs_every_epoch(self) -> bool:
        """Whether every end of an epoch is saved, not only the latest now and then."""
        best = self.result == "best" or self.keep_best > 0
        return best or max(self.average, self.keep_last) > 1

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that cannot be trained on: without examples, or with too long ones."""
        if not corpus.splits.get("train"):
            raise UserError("the corpus has no training examples")
        valid = corpus.splits.get("valid")
        validated = {
            "patience": self.patience is not None,
            "result best": self.result == "best",
            "keep_best": self.keep_best > 0,
            "scoring": self.scoring is not None,
        }
        for name, wanted in validated.items():
            if wanted and not valid:
                raise UserError(
                    f"training.{name} needs validation examples, and the corpus has none"
                )
        for split in ("train", "valid") if valid else ("train",):
            lengths = self.batching.check(corpus.splits[split], f" of the {split} split")
            self._check_rows(lengths, f"of the {split} split")

    def _check_rows(self, lengths: np.ndarray, where: str) -> None:
        """Refuse a row that is longer than what a device computes at once."""
        if self.device_tokens is None:
            return
        packed = self.batching.length if isinstance(self.batching, Packed) else 0
        if packed > self.device_tokens:
            raise UserError(
                f"a row of packed sentences has batching.length={packed:,} places, more than "
                f"training.device_tokens={self.device_tokens:,}, what a device computes at once"
            )
        longest = int(lengths.max(1).argmax())
        if lengths[longest].max() > self.device_tokens:
            source, target = lengths[longest].tolist()
            raise UserError(
                f"example {longest + 1} {where} has {source} source and {target} target symbols "
                f"(END counted), more than training.device_tokens={self.device_tokens:,}, what a "
                f"device computes at once: a micro-batch has at least one row, whatever the "
                f"number of devices and batching.max_tokens={self.batching.max_tokens:,}"
            )


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides a training except data and seed; the vocabularies are filled in."""

    model: Any
    objective: Objective
    optimizer: Optimizer
    training: Training

    def check(self, corpus: Corpus) -> None:
        """Refuse, before training, settings that do not combine, and a corpus that does not fit."""
        self.training.check(corpus)
        if isinstance(self.training.batching, Packed):
            self.objective.check_packing(self.model, self.training.batching.length)
        for path, part in walk(self.model, "model"):
            if isinstance(part, Norm) and part.over_batch and self.training.device_tokens:
                raise UserError(
                    f"{path} is a {type(part).__name__}, whose statistics are those of the whole "
                    f"batch; training.device_tokens={self.training.device_tokens:,} computes it in "
                    "parts: remove one of the two"
                )
