"""Networks that have learnt nothing are at the chance that papers print, on formal languages."""

import jax
import numpy as np
import pytest

from attnjax.attention import MultiHead, Sinusoidal
from attnjax.data import (
    CycleNavigation,
    DuplicateString,
    EvenPairs,
    ModularArithmetic,
    Parity,
    ReverseString,
)
from attnjax.data.special_tokens import PAD
from attnjax.models import EncoderLayer, FeedForward, Labeler
from tests import jitted

LONGEST, ROWS, SEEDS = 19, 200, 12
FIRST = 4
MODEL = Labeler(
    source_vocabulary=FIRST + 9,
    vocabulary=FIRST + 5,
    width=16,
    num_layers=1,
    layer=EncoderLayer(self_attention=MultiHead(heads=2), feed_forward=FeedForward(width=16)),
    position=Sinusoidal(),
)


def padded(ids, columns):
    """Fill up with PAD, so that all tasks share one program."""
    return np.pad(ids, [(0, 0), (0, columns - ids.shape[1])])


@pytest.mark.parametrize(
    ("task", "chance"),
    [
        # Deletang et al. 2023, appendix A: 50 %, and 20 % of five labels
        (Parity(), 0.5),
        (EvenPairs(), 0.5),
        (CycleNavigation(), 0.2),
        (ModularArithmetic(), 0.2),
        (DuplicateString(), 0.5),
        (ReverseString(), 0.5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_untrained_network_is_at_chance(task, chance):
    drawn = task.draw(np.random.default_rng(0), np.full(ROWS, LONGEST))
    source = padded(drawn.sources, 3 * LONGEST).astype(np.int32)
    asked = np.stack([padded(x, 2 * LONGEST) for x in (drawn.places, drawn.labels)], -1)
    labels, counted = asked[..., 1], asked[..., 1] != PAD
    given = FIRST + np.arange(len(task.label_words))
    shares = []
    for seed in range(SEEDS):
        key = jax.random.key(seed)
        logits, _ = jitted.init_with_output(
            MODEL, key, source, asked.astype(np.int32), deterministic=True
        )
        found = given[logits[..., given].argmax(-1)]
        shares.append((found == labels)[counted].mean())
    deviation = max(np.std(shares), (chance * (1 - chance) / counted.sum()) ** 0.5)
    assert abs(np.mean(shares) - chance) < 3 * deviation / SEEDS**0.5 + 0.01
    assert max(shares) < chance + 0.15
