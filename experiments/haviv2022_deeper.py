"""Does depth, or do longer symbols, make up for missing positions?  Haviv et al. 2022, Table 1.

Without positions the paper's language models are 0.027 nats a word worse than with learned ones
(WikiText-103); `haviv2022`, with 4 layers of 128 and characters, has a distance of 0.15 nats a
character, which is 0.8 nats a word. Two causes are possible: the paper's networks are deeper,
and where a word stands is found out layer by layer; and their symbols are words or pieces of words,
whose order matters less than that of characters. Here the same recipe is trained with 12 layers of
64, and with 1,000 byte pairs in the place of characters, each without positions and with learned
ones.

The test split has 5.5 characters a word, so that nats a word are bits a character times 3.8; 0.1
nats a word are asked for, four times the paper's distance. Networks have learnt if learned
positions end below 2.1 nats a character. Looked at before, with seed 100 and learned positions
alone: 2.00 nats a character with 12 layers, 1.64 with byte pairs.

Neither closes the distance: it is 0.24 nats a word with 12 layers and 0.30 with byte pairs, where
`haviv2022` has 0.83.

    attnjax run haviv2022_deeper    # ATTNJAX_DATA names what tinyshakespeare is in
"""

import math

import attnjax
from attnjax.attention import Learned
from attnjax.data import SentencePiece
from attnjax.experiment import Ablation, Claim, Difference, Value, figures, vary

bits = "bits_per_character"
CHARACTERS = 5.5
"""Of the test split, for a word."""
NAT_A_WORD = 1 / (math.log(2) * CHARACTERS)
"""In bits a character."""

none = attnjax.load("haviv2022").ablation.variants["none"]
deep = vary(
    none, {"model.width": 64, "model.num_layers": 12, "model.layer.feed_forward.width": 4 * 64}
)
learned = {"model.position": Learned(max_length=64)}
pairs = vary(none, {"task.vocabulary": SentencePiece(size=1_000, algorithm="bpe")})


def close(text: str, which: str) -> Claim:
    """Return the claim that a network without positions is as good as one with learned ones."""
    return Claim(
        text=f"{text}: without positions at most 0.1 nats a word from learned ones",
        estimand=Difference(bits, better=f"none_{which}", worse=f"learned_{which}"),
        low=-0.1 * NAT_A_WORD,
        high=0.1 * NAT_A_WORD,
        given=Value(bits, f"learned_{which}") <= 2.1 / math.log(2),
        kind="reduced",
        source="Haviv et al. 2022, Table 1, WikiText-103",
        quote="20.97 and 20.42, perplexity of words",
    )


ablation = Ablation(
    base=deep,
    variants={
        "learned_deep": vary(deep, learned),
        "none_deep": deep,
        "learned_pairs": vary(pairs, learned),
        "none_pairs": pairs,
    },
    seeds=5,
    first_seed=41,
    claims=(
        close("12 layers of 64, characters", "deep"),
        close("4 layers of 128, 1,000 byte pairs", "pairs"),
    ),
    published=figures(
        "Haviv et al. 2022",
        "Table 1, WikiText-103, perplexity",
        "word_perplexity",
        {"none_deep": 20.97, "learned_deep": 20.42},
        why_not="of the words of another text, by a far larger network",
    ),
)
