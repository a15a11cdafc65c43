"""Building blocks that are not attention: the linear map, dropout, templates and lifting."""

from attnjax.nn.dropout import Dropout, dropout
from attnjax.nn.length_limit import LengthLimited, MaxLength
from attnjax.nn.lift import clone_template, inherit, scan_time, sow, vmap_beams, vmap_heads
from attnjax.nn.linear import Dense

__all__ = [
    "Dense",
    "Dropout",
    "LengthLimited",
    "MaxLength",
    "clone_template",
    "dropout",
    "inherit",
    "scan_time",
    "sow",
    "vmap_beams",
    "vmap_heads",
]
