"""Updates of a model by PyTorch, whose threads and random numbers are set here."""

import torch
from serve import CORES, serve
from torch import nn

torch.set_num_threads(CORES)
torch.manual_seed(0)


def serve_updates(model, optimizer, inputs, target, smoothing=0.0, clip=None):
    """Serve updates on one batch: forward, backward, and the optimizer's step."""

    def call():
        optimizer.zero_grad(set_to_none=True)
        logits = model(*inputs).flatten(0, 1)
        nn.functional.cross_entropy(logits, target.flatten(), label_smoothing=smoothing).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()

    serve("PyTorch", torch.__version__, call)
