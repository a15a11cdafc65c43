"""The cost of a training, as its result and the report have it."""

from dataclasses import dataclass

from attnjax.config.constraints import NonNegativeInt
from attnjax.config.read_json import Number, WholeNumber


@dataclass(frozen=True, kw_only=True)
class TrainingCost:
    """The sizes of a run's data and batches, and the cost of a step.

    Attributes:
        flops: the FLOPs of a training step on the largest batch, in matrix products.
        shape: B, S and T of that batch.
        tokens: the mean number of target symbols of a step.
        examples: pairs of a split and its number of examples.
    """

    steps: NonNegativeInt
    flops: WholeNumber
    shape: tuple[NonNegativeInt, ...]
    tokens: Number
    examples: tuple[tuple[str, WholeNumber], ...]
