"""Measured numbers and their keys."""

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

from attnjax.config.constraints import PositiveInt
from attnjax.config.read_json import Number
from attnjax.errors import UserError

type Better = Literal["higher", "lower"]
type Moment = Literal["initial", "trained"]


@dataclass(frozen=True)
class MetricKey:
    """The key of a measured number.

    Attributes:
        name: the name of the metric, such as "bleu".
        part: (i, n): the i-th of n equal parts of the test split, sorted by source length (1 holds
            the shortest); None: the whole split.
        moment: the parameters that are measured; None: the metric is only of trained ones.
    """

    name: str
    part: tuple[int, int] | None = None
    moment: Moment | None = None

    def __str__(self) -> str:
        """Return the key in words: "bleu, part 4 of 4"."""
        words = [self.name.replace("_", " ")]
        if self.part is not None:
            words.append(f"part {self.part[0]} of {self.part[1]}")
        if self.moment is not None:
            words.append(self.moment)
        return ", ".join(words)


@dataclass(frozen=True)
class Measurement:
    """A number of a run; if no direction is `better`, it describes the run and judges nothing."""

    key: MetricKey
    value: float
    better: Better | None = None

    def record(self) -> dict[str, Any]:
        """Return the measurement as JSON: {"name": "bleu", "part": [4, 4], "value": 27.3, ...}.

        A value that is not finite becomes null.
        """
        optional = {"part": self.key.part, "moment": self.key.moment, "better": self.better}
        value = self.value if math.isfinite(self.value) else None
        known = {name: item for name, item in optional.items() if item is not None}
        return {"name": self.key.name, **known, "value": value}

    @classmethod
    def of(cls, record: "MeasurementRecord") -> Self:
        """Return the measurement of a record; a value of None becomes NaN."""
        key = MetricKey(record.name, part=record.part, moment=record.moment)
        value = math.nan if record.value is None else float(record.value)
        return cls(key, value, record.better)


@dataclass(frozen=True, kw_only=True)
class MeasurementRecord:
    """The record of a measurement, as JSON has it; a value of None is not finite."""

    name: str
    part: tuple[PositiveInt, PositiveInt] | None = None
    moment: Moment | None = None
    value: Number | None
    better: Better | None = None

    def __post_init__(self) -> None:
        if self.part is not None and self.part[0] > self.part[1]:
            raise UserError(f"part: there is no part {self.part[0]} of {self.part[1]}")
