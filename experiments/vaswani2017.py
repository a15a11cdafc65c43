"""How well does a network of attention alone translate?  Vaswani et al. 2017, Table 2.

No records as of now: both networks train to patience, five seeds each, ten hours on two cores. WMT
2014, newstest2014: the base model reaches 27.3 BLEU into German and 38.1 into French, the big one
28.4 and 41.8 (section 6.1 prints 41.0), more than any recurrent or convolutional model then.

Here Multi30k English-German, split by a joint BPE of 10,000 merges: a base of 2 layers, width 64
and feed-forward width 256, and a big one with twice of each width and twice the heads. Of 29,000
pairs a bigger network translates worse in the end: Wu et al. 2021, Table 1, have 41.02 BLEU for
Transformer-Tiny and less for larger ones. After 500 updates the big model had been ahead, since it
learns faster; so both train until the validation loss has not fallen for 5 epochs.

The paper's settings have its models, schedule, batches of 25,000 source and target tokens, updates,
beam 4, length penalty 0.6 and as many pieces; `differs` says what is not the paper's.

    attnjax run vaswani2017    # ATTNJAX_DATA names what multi30k-bpe is in
    attnjax run vaswani2017 --setting paper    # WMT 2014 English-German, through TFDS
    attnjax run vaswani2017 --setting paper_fr    # English-French
"""

from typing import Any

from attnjax.attention import MultiHead
from attnjax.data import Batching, ParallelText, SentencePiece, Translation
from attnjax.decoding import GNMT, Beam
from attnjax.experiment import Ablation, Experiment, Setting, figures, gains, vary
from attnjax.models import DecoderLayer, EncoderLayer, FeedForward, Transformer
from attnjax.training import Adam, CrossEntropy, Noam, Training

heads, feed_forward = MultiHead(heads=4), FeedForward(width=256)
base = Experiment(
    task=ParallelText(folder="multi30k-bpe", source="en", target="de", test="test.2016"),
    model=Transformer(
        width=64,
        num_encoder_layers=2,
        num_decoder_layers=2,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
        dropout=0.1,
    ),
    objective=CrossEntropy(smoothing=0.1),
    optimizer=Adam(schedule=Noam(width=64, warmup=200, factor=0.5)),
    training=Training(steps=12_000, patience=5, batching=Batching(max_tokens=4_096)),
    search=Beam(size=4, length_penalty=GNMT(alpha=0.6)),
)


def big(width: int, heads: int) -> dict[str, Any]:
    """Return the changes that double a model's width and number of heads."""
    return {
        "model.width": 2 * width,
        "model.**.feed_forward.width": 8 * width,
        "model.**.heads": 2 * heads,
        "optimizer.schedule.width": 2 * width,
    }


def paper(name: str, pieces: int, average: int, dropout: float, bleu: dict[str, float]) -> Setting:
    """Return the paper's setting for a pair of languages; `dropout` is the big model's."""
    target = name.partition("/")[2].partition("-")[0]
    changes = {
        "task": Translation(
            name=name,
            target=target,
            vocabulary=SentencePiece(size=pieces, algorithm="bpe", sample=4_000_000),
            max_length=256,
        ),
        "model": Transformer(),
        "optimizer": Adam(schedule=Noam(width=512, warmup=4_000)),
        "training": Training(steps=100_000, average=average, batching=Batching(max_tokens=25_000)),
    }
    large = big(512, 8) | {"model.dropout": dropout, "training.steps": 300_000}
    return Setting(
        changes=changes,
        variants={"big": vary(base, changes | large)},
        claims=gains(
            "bleu",
            {"big beats base": ("big", "base")},
            low=0.5,
            kind="setting",
            source="Vaswani et al. 2017, Table 2",
        ),
        published=figures(
            "Vaswani et al. 2017",
            "Table 2",
            "bleu",
            bleu,
            why_not="theirs is of tokens with compounds split, ours of whole words",
        ),
        differs={
            "pieces": (
                "byte pairs into German, word pieces into French",
                "byte pairs, learned from 4 million sentences of both sides",
            ),
            "training pairs": ("WMT 2016's", "WMT 2014's, of at most 256 pieces a side"),
            "batches": ("25,000 tokens a side", "25,000 places, with padding"),
            "average": (
                "the last 5 (20) checkpoints, 10 minutes apart",
                "the ends of the last epochs, about 5,400 updates into German",
            ),
            "BLEU": ("of tokens, compounds split", "sacrebleu's, on all 3,003 sentences"),
        },
    )


ablation = Ablation(
    base=base,
    variants={"base": base, "big": vary(base, big(64, 4))},
    seeds=5,
    first_seed=10,
    claims=gains(
        "bleu",
        {"of 29,000 pairs the smaller network learns to translate better": ("base", "big")},
        low=0.0,
        kind="reduced",
        source="Wu et al. 2021, Table 1, of other sizes",
    ),
    settings={
        "paper": paper("wmt14_translate/de-en", 37_000, 2, 0.3, {"base": 27.3, "big": 28.4}),
        "paper_fr": paper("wmt14_translate/fr-en", 32_000, 1, 0.1, {"base": 38.1, "big": 41.8}),
    },
)
