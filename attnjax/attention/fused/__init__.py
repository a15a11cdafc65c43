"""Softmax attention without its [T, S] weights: `fused`, and the kernels it chooses from."""

from attnjax.attention.fused.dispatch import FUSED_FROM, Fused, Implementation, fused
from attnjax.attention.fused.inputs import Inputs

# a kernel's function would hide the module of its name
__all__ = ["FUSED_FROM", "Fused", "Implementation", "Inputs", "fused"]
