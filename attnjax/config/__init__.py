"""Trees of parts (dataclasses, Linen modules): walk, vary, override, serialize, constraints."""

from attnjax.config.constraints import (
    DropoutRate,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Probability,
    check_fields,
)
from attnjax.config.override import Override, override
from attnjax.config.parts import parts
from attnjax.config.serialize import from_json, to_json
from attnjax.config.vary import vary
from attnjax.config.walk import differences, walk

__all__ = [
    "DropoutRate",
    "NonNegativeFloat",
    "NonNegativeInt",
    "Override",
    "PositiveFloat",
    "PositiveInt",
    "Probability",
    "check_fields",
    "differences",
    "from_json",
    "override",
    "parts",
    "to_json",
    "vary",
    "walk",
]
