"""Causal attention of heads of 64, forward and backward, by PyTorch: LENGTH ROWS HEADS DEVICE."""

import sys

import torch
from serve import CORES, serve
from torch.nn.functional import scaled_dot_product_attention

torch.set_num_threads(CORES)
torch.manual_seed(0)
length, rows, heads = map(int, sys.argv[1:4])
on_gpu = sys.argv[4] == "cuda"
kind = {"device": "cuda", "dtype": torch.bfloat16} if on_gpu else {}
given = [torch.randn(rows, heads, length, 64, requires_grad=True, **kind) for _ in range(3)]


def call():
    """The gradients of all three, as new arrays."""
    torch.autograd.grad(scaled_dot_product_attention(*given, is_causal=True).sum(), given)
    if on_gpu:
        torch.cuda.synchronize()


serve("PyTorch", torch.__version__, call)
