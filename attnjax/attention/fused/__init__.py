"""Softmax attention without its [T, S] weights: `fused`, and the kernels it chooses from."""

from attnjax.attention.fused.dispatch import (
    FUSED_FROM as FUSED_FROM,
    Fused as Fused,
    Implementation as Implementation,
    fused as fused,
)
from attnjax.attention.fused.inputs import Inputs as Inputs

# a kernel's function would hide the module of its name
