"""One update of an LSTM translator with Luong's general score and input feeding, by PyTorch."""

import torch
from torch import nn
from torch_updates import serve_updates

ROWS, LENGTH, WIDTH, VOCABULARY = 128, 20, 512, 10_000


class Translator(nn.Module):
    """Luong et al. 2015, eq. 5 and 8, section 3.3."""

    def __init__(self):
        super().__init__()
        self.source = nn.Embedding(VOCABULARY, WIDTH)
        self.target = nn.Embedding(VOCABULARY, WIDTH)
        self.reader = nn.LSTM(WIDTH, WIDTH // 2, bidirectional=True, batch_first=True)
        self.writer = nn.LSTM(2 * WIDTH, WIDTH, batch_first=True)
        self.score = nn.Linear(WIDTH, WIDTH, bias=False)
        self.merge = nn.Linear(2 * WIDTH, WIDTH)
        self.logits = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, source, given):
        states, final = self.reader(self.source(source))
        # both directions of the last state side by side
        carry = tuple(torch.cat((x[0], x[1]), -1).unsqueeze(0).contiguous() for x in final)
        keys, words = self.score(states), self.target(given)
        fed, seen = words.new_zeros(len(source), WIDTH), []
        for word in words.unbind(1):
            hidden, carry = self.writer(torch.cat((word, fed), -1).unsqueeze(1), carry)
            weights = torch.softmax((hidden @ keys.transpose(1, 2)).squeeze(1), -1)
            context = (weights.unsqueeze(1) @ states).squeeze(1)
            fed = torch.tanh(self.merge(torch.cat((context, hidden.squeeze(1)), -1)))
            seen.append(fed)
        return self.logits(torch.stack(seen, 1))


model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
source = torch.randint(1, VOCABULARY, (ROWS, LENGTH))
target = torch.randint(1, VOCABULARY, (ROWS, LENGTH + 1))
serve_updates(model, optimizer, (source, target[:, :-1]), target[:, 1:])
