"""Causal attention of 8 heads of 64, forward and backward, by PyTorch: argument LENGTH."""

import sys

import torch
from serve import CORES, serve
from torch.nn.functional import scaled_dot_product_attention

torch.set_num_threads(CORES)
torch.manual_seed(0)
length = int(sys.argv[1])
given = [torch.randn(1, 8, length, 64, requires_grad=True) for _ in range(3)]


def call():
    """The gradients of all three, as new arrays."""
    torch.autograd.grad(scaled_dot_product_attention(*given, is_causal=True).sum(), given)


serve("PyTorch", torch.__version__, call)
