"""Which parts of the Transformer matter?  Vaswani et al. 2017, Table 3.

No records as of now: of one epoch, 1.2 target symbols a parameter where the paper's base has 38,
the table would rank how fast networks learn, and the 31 epochs of that ratio take ten hours. Rows A
to E change one thing of the base: heads at equal cost, keys, size, dropout, positions.

Here Multi30k English-German in 2,000 pieces, and 2,000 updates of a base of 3 layers, width 64,
with the paper's ratios and schedule; warm-up and factor are those of three trials with seed 100.

    attnjax run vaswani2017_table3 --setting paper    # WMT 2014 English-German, through TFDS
"""

from attnjax.attention import Learned, MultiHead
from attnjax.data import Batching, ParallelText, SentencePiece, Translation
from attnjax.decoding import GNMT, Beam, Greedy
from attnjax.evaluation import Perplexity
from attnjax.experiment import (
    Ablation,
    Claim,
    Difference,
    Experiment,
    Published,
    Setting,
    figures,
    gains,
    vary,
)
from attnjax.models import DecoderLayer, EncoderLayer, FeedForward, Transformer
from attnjax.training import Adam, Noam, Training

heads, feed_forward, pieces = MultiHead(heads=8), FeedForward(width=256), SentencePiece(size=2_000)
batching = Batching(max_tokens=512, batch_size_multiple=4, shapes=3)
base = Experiment(
    task=ParallelText(
        folder="multi30k", source="en", target="de", valid="val", test="test2016", vocabulary=pieces
    ),
    model=Transformer(
        width=64,
        num_encoder_layers=3,
        num_decoder_layers=3,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
        dropout=0.1,
    ),
    optimizer=Adam(schedule=Noam(width=64, warmup=800, factor=0.4)),
    training=Training(steps=2_000, batching=batching),
    search=Greedy(),
    measures=(Perplexity(),),
)
paper = {
    "task": Translation(
        name="wmt14_translate/de-en",
        vocabulary=SentencePiece(size=37_000, algorithm="bpe", sample=4_000_000),
        valid=None,
        test="validation",
        max_length=256,
    ),
    "model": Transformer(),
    "optimizer.schedule": Noam(width=512, warmup=4_000),
    "training": Training(steps=100_000, batching=Batching(max_tokens=25_000)),
    "search": Beam(size=4, length_penalty=GNMT(alpha=0.6)),
}


def rows(base: Experiment, width: int, layers: int) -> dict[str, Experiment]:
    """Return the rows of Table 3: a base model of this width and depth, and each row's change."""
    keys, network = "model.**.key_width", "model.**.feed_forward.width"
    stacks = ("model.num_encoder_layers", "model.num_decoder_layers")
    widths = ("model.width", "optimizer.schedule.width")
    return {
        "base": base,
        **{f"heads_{number}": vary(base, {"model.**.heads": number}) for number in (1, 4, 16, 32)},
        "keys_quarter": vary(base, {keys: width // 8 // 4}),
        "keys_half": vary(base, {keys: width // 8 // 2}),
        "layers_third": vary(base, dict.fromkeys(stacks, layers // 3)),
        "layers_two_thirds": vary(base, dict.fromkeys(stacks, layers * 2 // 3)),
        "layers_four_thirds": vary(base, dict.fromkeys(stacks, layers * 4 // 3)),
        "width_half": vary(base, dict.fromkeys(widths, width // 2)),
        "width_double": vary(base, dict.fromkeys(widths, width * 2)),
        "network_half": vary(base, {network: width * 2}),
        "network_double": vary(base, {network: width * 8}),
        **{f"dropout_{rate}": vary(base, {"model.dropout": rate}) for rate in (0.0, 0.2)},
        **{f"smoothing_{part}": vary(base, {"objective.smoothing": part}) for part in (0.0, 0.2)},
        "learned": vary(base, {"model.position": Learned(max_length=512)}),
    }


big = {
    "model.width": 1024,
    "model.**.feed_forward.width": 4096,
    "model.**.heads": 16,
    "model.dropout": 0.3,
    "optimizer.schedule.width": 1024,
    "training.steps": 300_000,
}


def printed(metric: str, values: str) -> tuple[Published, ...]:
    """Return the figures that the paper prints, in the order of `rows`, and the big model's."""
    numbers = dict(zip((*rows(base, 64, 3), "big"), map(float, values.split()), strict=True))
    return figures("Vaswani et al. 2017", "Table 3", metric, numbers)


bleu = "25.8 24.9 25.5 25.8 25.4 25.1 25.4 23.7 25.3 25.5 24.5 26.0 25.4 26.2 24.6 25.5 25.3 "
per_piece = "4.92 5.29 5.00 4.91 5.01 5.16 5.01 6.11 5.19 4.88 5.75 4.66 5.12 4.75 5.77 4.95 4.67 "
published = printed("bleu", bleu + "25.7 25.7 26.4")
published += printed("perplexity", per_piece + "5.47 4.92 4.33")
steps = {
    "A: one head is worse": ("base", "heads_1"),
    "A: too many heads are": ("base", "heads_32"),
    "B: narrow keys hurt": ("base", "keys_quarter"),
    "C: more layers are better": ("layers_four_thirds", "layers_third"),
    "C: a wider model is better": ("width_double", "width_half"),
    "C: a wider feed-forward network is": ("network_double", "network_half"),
    "D: dropout helps": ("base", "dropout_0.0"),
}
table_3 = "Vaswani et al. 2017, Table 3"
claims = (
    *gains("bleu", steps, low=0.1, kind="setting", source=f"{table_3}, rows (A) to (D)"),
    Claim(
        text="E: learned positions change nearly nothing",
        estimand=Difference("bleu", "learned", "base"),
        low=-0.3,
        high=0.3,
        kind="setting",
        source=f"{table_3}, row (E)",
        quote="25.8 and 25.7 BLEU",
    ),
)

ablation = Ablation(
    base=base,
    variants=rows(base, 64, 3),
    seeds=5,
    settings={
        "paper": Setting(
            changes=paper,
            variants=rows(vary(base, paper), 512, 6) | {"big": vary(base, paper | big)},
            claims=claims,
            published=published,
            differs={
                "pieces": ("of all pairs", "of 4 million sentences; pairs of at most 256"),
                "batches": ("25,000 tokens a side", "25,000 places, with padding"),
                "BLEU": ("of tokens", "sacrebleu's"),
            },
        )
    },
)
