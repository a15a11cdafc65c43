"""Building blocks that are not attention: linear map, dropout, norms, initializers, lifting."""

from attnjax.nn.dropout import Dropout, dropout
from attnjax.nn.embedding import lookup
from attnjax.nn.initializers import (
    GPTInit,
    InitByName,
    Initializer,
    InitRule,
    NormalInit,
    OrthogonalInit,
    UniformInit,
    ZerosInit,
)
from attnjax.nn.length_limit import LengthLimited, MaxLength
from attnjax.nn.lift import (
    clone_template,
    inherit,
    rematerialize,
    scan_time,
    sow,
    vmap_beams,
    vmap_heads,
)
from attnjax.nn.linear import Dense
from attnjax.nn.norm import BatchNorm, LayerNorm, NoNorm, Norm, RMSNorm
from attnjax.nn.remat import KeepInputs, KeepProducts, Remat

__all__ = [
    "BatchNorm",
    "Dense",
    "Dropout",
    "GPTInit",
    "InitByName",
    "InitRule",
    "Initializer",
    "KeepInputs",
    "KeepProducts",
    "LayerNorm",
    "LengthLimited",
    "MaxLength",
    "NoNorm",
    "Norm",
    "NormalInit",
    "OrthogonalInit",
    "RMSNorm",
    "Remat",
    "UniformInit",
    "ZerosInit",
    "clone_template",
    "dropout",
    "inherit",
    "lookup",
    "rematerialize",
    "scan_time",
    "sow",
    "vmap_beams",
    "vmap_heads",
]
