"""Building blocks that are not attention: linear map, dropout, norms, initializers, lifting."""

from attnjax.nn.dropout import Dropout as Dropout, dropout as dropout
from attnjax.nn.embedding import lookup as lookup
from attnjax.nn.initializers import (
    GPTInit as GPTInit,
    InitByName as InitByName,
    Initializer as Initializer,
    InitRule as InitRule,
    MuPInit as MuPInit,
    NormalInit as NormalInit,
    OrthogonalInit as OrthogonalInit,
    UniformInit as UniformInit,
    ZerosInit as ZerosInit,
)
from attnjax.nn.length_limit import LengthLimited as LengthLimited, MaxLength as MaxLength
from attnjax.nn.lift import (
    clone_template as clone_template,
    inherit as inherit,
    rematerialize as rematerialize,
    scan_time as scan_time,
    sow as sow,
    vmap_beams as vmap_beams,
    vmap_heads as vmap_heads,
)
from attnjax.nn.linear import Dense as Dense
from attnjax.nn.norm import (
    BatchNorm as BatchNorm,
    LayerNorm as LayerNorm,
    NoNorm as NoNorm,
    Norm as Norm,
    RMSNorm as RMSNorm,
)
from attnjax.nn.remat import KeepInputs as KeepInputs, KeepProducts as KeepProducts, Remat as Remat
