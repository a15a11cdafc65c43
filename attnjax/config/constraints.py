"""The numbers that a field may hold, by the field's name, wherever in an experiment it stands.

A width of 0 ends in a traceback far from its cause, and a smoothing of 2 trains to the end. Parts
that know more of their own fields refuse more.
"""

from math import inf
from typing import Annotated, Any, NamedTuple

from annotated_types import Ge, Gt, Le, Lt

from attnjax.config.vary import walk
from attnjax.errors import UserError

type PositiveInt = Annotated[int, Gt(0)]
type NonNegativeInt = Annotated[int, Ge(0)]
type PositiveFloat = Annotated[float, Gt(0), Lt(inf)]
type NonNegativeFloat = Annotated[float, Ge(0), Lt(inf)]
type Probability = Annotated[float, Ge(0), Le(1)]
type DropoutRate = Annotated[float, Ge(0), Lt(1)]


class Range(NamedTuple):
    """From `low` up to `high`, with `low` itself or not."""

    low: float
    high: float
    with_low: bool

    def holds(self, value: float) -> bool:
        """Whether a number lies in it; no range holds NaN."""
        above = self.low <= value if self.with_low else self.low < value
        return above and value < self.high

    def __str__(self) -> str:
        below = "" if self.high == inf else f" and below {self.high:g}"
        return f"{'at least' if self.with_low else 'above'} {self.low:g}{below}"


POSITIVE, NOT_NEGATIVE, SHARE = Range(0, inf, False), Range(0, inf, True), Range(0, 1, True)
RANGES = {
    **dict.fromkeys(
        ("width", "key_width", "value_width", "heads", "maxout", "embedding"), POSITIVE
    ),
    **dict.fromkeys(("layers", "encoder_layers", "decoder_layers", "length"), POSITIVE),
    **dict.fromkeys(("vocabulary", "source_vocabulary"), POSITIVE),
    **dict.fromkeys(("clip", "peak", "value", "factor", "epsilon", "temperature"), POSITIVE),
    **dict.fromkeys(("warmup", "decay", "every"), POSITIVE),
    **dict.fromkeys(("start", "after", "alpha"), NOT_NEGATIVE),
    **dict.fromkeys(("dropout", "smoothing", "b1", "b2", "rho"), SHARE),
}


GIVEN = ("cell.width",)
"""Fields whose value is that of the network around them."""


def check_ranges(part: Any) -> None:
    """Refuse what lies outside.

    Raises:
        UserError: a number below the part is not in its field's range, or is not the field's own.
    """
    for path, value in walk(part):
        if path.endswith(GIVEN) and value is not None:
            above = path.removesuffix("cell.width") + "width"
            raise UserError(f"{path} is what {above} says; got {value}")
        wanted = RANGES.get(path.rpartition(".")[2])
        if wanted and isinstance(value, int | float) and not wanted.holds(value):
            raise UserError(f"{path} must be {wanted}; got {value}")
