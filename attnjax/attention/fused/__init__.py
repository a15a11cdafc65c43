"""Softmax attention without its [T, S] weights: `fused`, and the kernels it chooses from."""

from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.cudnn import cudnn
from attnjax.attention.fused.dispatch import FUSED_FROM, Fused, Implementation, fused
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.fused.splash import splash

__all__ = [
    "FUSED_FROM",
    "Fused",
    "Implementation",
    "Inputs",
    "blockwise",
    "cudnn",
    "fused",
    "splash",
]
