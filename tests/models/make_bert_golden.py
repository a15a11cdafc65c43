"""Makes bert_golden.npz: what `transformers` computes with a tiny BERT of random parameters.

Run once, in an environment of its own:

    pip install torch transformers
    python tests/models/make_bert_golden.py

Every array of the state dict is in the file by its own name, beside the inputs, the hidden states
of every layer, and the outputs of the heads; and what the tokenizer makes of a few texts.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertForPreTraining, BertTokenizer

WORDS = ("[PAD]", "`", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "sat", "##ting")
WORDS += ("un", "##want", "##ed", "eleve", "!", ",", "3", "中")
TEXTS = (
    "The cats, sitting!",
    "UNWANTED élève: cat3",
    "the 中cat\tsat\u00a0on\u200b the\x00cat",
    "x" * 101 + " cat",
    "catscatted",
)
FILE = Path(__file__).with_name("bert_golden.npz")

config = BertConfig(
    vocab_size=len(WORDS),
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=12,
    max_position_embeddings=9,
    hidden_act="gelu",
)
config._attn_implementation = "eager"
model = BertForPreTraining(config).double().eval()
generator = torch.Generator().manual_seed(0)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.normal_(0.0, 0.4, generator=generator)

# [CLS] a [SEP] b [SEP], and one sentence with padding behind it
words = torch.tensor([[3, 6, 7, 8, 4, 5, 10, 9, 4], [3, 11, 12, 13, 4, 0, 0, 0, 0]])
segments = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1, 1], [0] * 9])
mask = (words != 0).long()
with torch.no_grad():
    found = model(words, mask, segments, output_hidden_states=True, output_attentions=True)
    pooled = model.bert(words, mask, segments).pooler_output

with tempfile.TemporaryDirectory() as folder:
    vocabulary = Path(folder, "vocab.txt")
    vocabulary.write_text("".join(word + "\n" for word in WORDS), encoding="utf-8")
    tokenizer = BertTokenizer(str(vocabulary), do_lower_case=True)
    pieces = {text: tokenizer.tokenize(text) for text in TEXTS}

np.savez_compressed(
    FILE,
    **{f"state/{name}": array.numpy() for name, array in model.state_dict().items()},
    words=words.numpy(),
    hidden=torch.stack(found.hidden_states).numpy(),
    weights=torch.stack(found.attentions).numpy(),
    pooled=pooled.numpy(),
    masked_words=found.prediction_logits.numpy(),
    next_sentence=found.seq_relationship_logits.numpy(),
    vocabulary=np.array(WORDS),
    config=np.array(json.dumps(config.to_dict())),
    pieces=np.array(json.dumps(pieces)),
)
print(f"{FILE}: {FILE.stat().st_size:,} bytes")
