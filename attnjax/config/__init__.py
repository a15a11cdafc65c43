"""Trees of parts (dataclasses, Linen modules): walk, vary, override, serialize, constraints."""

from attnjax.config.constraints import (
    DropoutRate as DropoutRate,
    NonNegativeFloat as NonNegativeFloat,
    NonNegativeInt as NonNegativeInt,
    PositiveFloat as PositiveFloat,
    PositiveInt as PositiveInt,
    Probability as Probability,
    check_fields as check_fields,
)
from attnjax.config.override import Override as Override, override as override
from attnjax.config.parts import parts as parts
from attnjax.config.serialize import from_json as from_json, to_json as to_json
from attnjax.config.vary import vary as vary
from attnjax.config.walk import differences as differences, walk as walk
