"""Tasks whose examples a generator draws; the same fields give the same examples."""

from attnjax.data.generated.dates import Dates
from attnjax.data.generated.regression import NoisyFunction
from attnjax.data.generated.sequences import (
    AssociativeRecall,
    Copy,
    Generated,
    Reverse,
    Sequences,
    Sort,
)
from attnjax.data.generated.shapes import Shapes

__all__ = [
    "AssociativeRecall",
    "Copy",
    "Dates",
    "Generated",
    "NoisyFunction",
    "Reverse",
    "Sequences",
    "Shapes",
    "Sort",
]
