"""Tasks whose examples a generator draws; the same fields give the same examples."""

from attnjax.data.generated.dates import Dates as Dates
from attnjax.data.generated.regression import NoisyFunction as NoisyFunction
from attnjax.data.generated.sequences import (
    AssociativeRecall as AssociativeRecall,
    Copy as Copy,
    Generated as Generated,
    Reverse as Reverse,
    Sequences as Sequences,
    Sort as Sort,
    Zip as Zip,
)
from attnjax.data.generated.shapes import Shapes as Shapes
