"""One update of nn.Transformer with a tied embedding, by PyTorch: tiny, small or base.

A second argument is the precision of float32 products: highest, high or medium, as PyTorch says.
"""

import sys

import torch
from torch import nn
from torch_updates import serve_updates

VOCABULARY, DROPOUT, SMOOTHING, PADDED = 10_000, 0.1, 0.1, 4
# width, feed-forward, layers, heads, rows, length
SIZES = {
    "tiny": (128, 256, 4, 4, 128, 32),
    "small": (256, 1024, 3, 4, 128, 32),
    "base": (512, 2048, 6, 8, 32, 32),
}


class Translator(nn.Module):
    """Post-norm, ReLU; a position's vector is random and fixed."""

    def __init__(self, width, feed_forward, layers, heads, length):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, width)
        self.body = nn.Transformer(
            width, heads, layers, layers, feed_forward, DROPOUT, batch_first=True
        )
        self.register_buffer("where", torch.randn(length, width))
        self.register_buffer("later", nn.Transformer.generate_square_subsequent_mask(length))

    def embed(self, words):
        return self.words(words) * self.words.embedding_dim**0.5 + self.where

    def forward(self, source, given, absent):
        states = self.body(
            self.embed(source),
            self.embed(given),
            tgt_mask=self.later,
            src_key_padding_mask=absent,
            memory_key_padding_mask=absent,
            tgt_is_causal=True,
        )
        return states @ self.words.weight.T


torch.set_float32_matmul_precision(sys.argv[2] if len(sys.argv) > 2 else "highest")
width, feed_forward, layers, heads, rows, length = SIZES[sys.argv[1]]
model = Translator(width, feed_forward, layers, heads, length)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98))
source = torch.randint(1, VOCABULARY, (rows, length))
target = torch.randint(1, VOCABULARY, (rows, length + 1))
absent = (torch.arange(length) >= length - PADDED).expand(rows, length)
inputs = (source, target[:, :-1], absent)
serve_updates(model, optimizer, inputs, target[:, 1:], smoothing=SMOOTHING)
