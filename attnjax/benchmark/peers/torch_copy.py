"""One update of a decoder layer of 32 on an embedded source, 28 rows of 9 words, by PyTorch."""

import torch
from torch import nn
from torch_updates import serve_updates

ROWS, LENGTH, VOCABULARY, WIDTH = 28, 9, 24, 32


class Copy(nn.Module):
    """A norm before each part and behind the source; a position's vector is random and fixed."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.layer = nn.TransformerDecoderLayer(
            WIDTH, 1, 2 * WIDTH, 0.0, batch_first=True, norm_first=True
        )
        self.source_norm, self.target_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.register_buffer("where", torch.randn(LENGTH, WIDTH))
        self.register_buffer("later", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def forward(self, source, given):
        source, given = (self.words(each) * WIDTH**0.5 + self.where for each in (source, given))
        memory = self.source_norm(source)
        states = self.layer(given, memory, tgt_mask=self.later, tgt_is_causal=True)
        return self.target_norm(states) @ self.words.weight.T


model = Copy()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98))
source = torch.randint(4, VOCABULARY, (ROWS, LENGTH))
target = torch.randint(4, VOCABULARY, (ROWS, LENGTH + 1))
serve_updates(model, optimizer, (source, target[:, :-1]), target[:, 1:])
