"""What `make_bert_golden.py` has written: a tiny BERT, and what `transformers` computes with it."""

import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from attnjax.lab.trained.import_bert import BertConfig, Layout, parameters_of

FILE = Path(__file__).with_name("bert_golden.npz")
GOLDEN = dict(np.load(FILE).items())
CONFIG = BertConfig.read(json.loads(str(GOLDEN["config"])), "config.json")
WORDS = [str(word) for word in GOLDEN["vocabulary"]]
STATE = {
    name.removeprefix("state/"): array
    for name, array in GOLDEN.items()
    if name.startswith("state/")
}
# ours: PAD, START for [CLS], END for [SEP], UNKNOWN, the words, MASK
SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
PIECES = [word for word in WORDS if word not in (*SPECIAL, "[MASK]")]
ORDER = [WORDS.index(word) for word in (*SPECIAL, *PIECES, "[MASK]")]
MODEL = CONFIG.model().with_vocabularies(len(ORDER) - 1, 6)


def parameters():
    """The golden parameters, float64."""
    return parameters_of(Layout(STATE, "the golden file"), CONFIG, ORDER)


def source():
    """The golden input without [CLS], in our ids."""
    return jnp.asarray(np.argsort(ORDER)[GOLDEN["words"]][:, 1:])
