"""Causal attention of heads of 64, forward and backward, by PyTorch.

Arguments: LENGTH ROWS HEADS DEVICE, and the dtype of all arrays.
"""

import sys

import torch
from serve import CORES, serve
from torch.nn.functional import scaled_dot_product_attention

torch.set_num_threads(CORES)
torch.manual_seed(0)
length, rows, heads = map(int, sys.argv[1:4])
device, dtype = sys.argv[4], getattr(torch, sys.argv[5])
kind = {"device": device, "dtype": dtype, "requires_grad": True}
given = [torch.randn(rows, heads, length, 64, **kind) for _ in range(3)]


def call():
    """Compute the gradients of all three, as new arrays."""
    torch.autograd.grad(scaled_dot_product_attention(*given, is_causal=True).sum(), given)
    if device == "cuda":
        torch.cuda.synchronize()


serve("PyTorch", torch.__version__, call)
