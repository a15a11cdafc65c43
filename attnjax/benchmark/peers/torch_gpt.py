"""One update of a GPT of 4 layers of 128 on 12 rows of 64 characters, by PyTorch, with AdamW."""

import torch
from torch import nn
from torch_updates import serve_updates

ROWS, LENGTH, VOCABULARY, WIDTH, LAYERS, HEADS = 12, 64, 69, 128, 4, 4


class Layer(nn.Module):
    """Norms first, one map to query, key and value, PyTorch's own kernel of attention."""

    def __init__(self):
        super().__init__()
        self.before_attention, self.before_feed_forward = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.projections, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU("tanh"), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        projected = self.projections(self.before_attention(x)).split(WIDTH, -1)
        heads = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in projected)
        contexts = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(contexts.transpose(1, 2).flatten(2))
        return x + self.feed_forward(self.before_feed_forward(x))


class GPT(nn.Module):
    """The embedding is input and output."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)), nn.LayerNorm(WIDTH))

    def forward(self, words):
        return self.layers(self.words(words) + self.places.weight) @ self.words.weight.T


model = GPT()
weights = [each for each in model.parameters() if each.dim() > 1]
others = [each for each in model.parameters() if each.dim() == 1]
groups = [{"params": weights, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
text = torch.randint(4, VOCABULARY, (ROWS, LENGTH + 1))
serve_updates(model, optimizer, (text[:, :-1],), text[:, 1:], clip=1.0)
