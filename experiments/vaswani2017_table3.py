"""Which parts of the Transformer matter?  Vaswani et al. 2017, Table 3.

Rows A to E change one thing each of the base model: (A) the number of heads at equal cost, (B) the
width of the keys, (C) the size, (D) dropout and label smoothing, (E) learned positions. The paper:
one head is 0.9 BLEU worse than the best setting and too many are worse too (A); narrower keys hurt
(B); bigger is better (C); dropout helps much (D); learned positions change nearly nothing (E).

Here Multi30k English-German, split by a joint BPE of 10,000 merges, and a base of 3 layers, width
64 and feed-forward width 256; the rows have the paper's ratios to it. Every row has the paper's one
schedule, scaled by d_model^-0.5, and the same number of updates.

The paper's setting is WMT 2014 English-German, scored on newstest2013 without averaging. The table
also has perplexities per piece: base 4.92; A 5.29 5.00 4.91 5.01; B 5.16 5.01; C 6.11 5.19 4.88
(layers) 5.75 4.66 (width) 5.12 4.75 (feed-forward); D 5.77 4.95 4.67 5.47; E 4.92; big 4.33. What
differs: sentencepiece's unigram model finds the 37,000 pieces; BLEU is sacrebleu's; pairs of more
than 256 pieces are left out.

    attnjax run vaswani2017_table3    # ATTNJAX_DATA names what multi30k-bpe is in
    attnjax run vaswani2017_table3 --setting paper    # WMT 2014 English-German, through TFDS
"""

from attnjax.attention import Learned, MultiHead
from attnjax.data import Batching, ParallelText, SentencePiece, Translation
from attnjax.decoding import GNMT, Beam
from attnjax.experiment import (
    Ablation,
    Claim,
    Difference,
    Experiment,
    Setting,
    figures,
    gains,
    vary,
)
from attnjax.models import DecoderLayer, EncoderLayer, FeedForward, Transformer
from attnjax.training import Adam, CrossEntropy, Noam, Training

heads, feed_forward = MultiHead(heads=8), FeedForward(width=256)
base = Experiment(
    task=ParallelText(folder="multi30k-bpe", source="en", target="de", test="test.2016"),
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
    objective=CrossEntropy(smoothing=0.1),
    optimizer=Adam(schedule=Noam(width=64, warmup=200, factor=0.5)),
    training=Training(steps=600, batching=Batching(max_tokens=4_096)),
    search=Beam(size=4, length_penalty=GNMT(alpha=0.6)),
)
paper = {
    "task": Translation(
        name="wmt14_translate/de-en",
        vocabulary=SentencePiece(size=37_000),
        valid=None,
        test="validation",
        max_length=256,
    ),
    "model": Transformer(),
    "optimizer.schedule": Noam(width=512, warmup=4_000),
    "training": Training(steps=100_000, batching=Batching(max_tokens=25_000)),
}


def rows(base: Experiment, width: int, layers: int) -> dict[str, Experiment]:
    """Table 3: the base model of this width and so many layers, and each row's one change."""

    def stacks(number: int) -> dict[str, int]:
        return {"model.num_encoder_layers": number, "model.num_decoder_layers": number}

    def wide(number: int) -> dict[str, int]:
        return {"model.width": number, "optimizer.schedule.width": number}

    keys, network = "model.**.key_width", "model.**.feed_forward.width"
    return {
        "base": base,
        **{f"heads_{number}": vary(base, {"model.**.heads": number}) for number in (1, 4, 16, 32)},
        "keys_quarter": vary(base, {keys: width // 8 // 4}),
        "keys_half": vary(base, {keys: width // 8 // 2}),
        "layers_third": vary(base, stacks(layers // 3)),
        "layers_two_thirds": vary(base, stacks(layers * 2 // 3)),
        "layers_four_thirds": vary(base, stacks(layers * 4 // 3)),
        "width_half": vary(base, wide(width // 2)),
        "width_double": vary(base, wide(width * 2)),
        "network_half": vary(base, {network: width * 2}),
        "network_double": vary(base, {network: width * 8}),
        "dropout_0": vary(base, {"model.dropout": 0.0}),
        "dropout_0.2": vary(base, {"model.dropout": 0.2}),
        "smoothing_0": vary(base, {"objective.smoothing": 0.0}),
        "smoothing_0.2": vary(base, {"objective.smoothing": 0.2}),
        "learned": vary(base, {"model.position": Learned(max_length=512)}),
    }


paper_base = vary(base, paper)
big = {
    "model.width": 1024,
    "model.**.feed_forward.width": 4096,
    "model.**.heads": 16,
    "model.dropout": 0.3,
    "optimizer.schedule.width": 1024,
    "training.steps": 300_000,
}
# BLEU in the order of `rows`: the regions of the claims, at least 0.3 and at most 1.0, are ours
bleu = (25.8, 24.9, 25.5, 25.8, 25.4, 25.1, 25.4, 23.7, 25.3, 25.5, 24.5, 26.0, 25.4, 26.2)
bleu += (24.6, 25.5, 25.3, 25.7, 25.7)
table_3 = dict(zip(rows(base, 64, 3), bleu, strict=True)) | {"big": 26.4}
bigger = {
    "more layers are better": ("layers_four_thirds", "layers_third"),
    "a wider model is better": ("width_double", "width_half"),
    "a wider feed-forward network is better": ("network_double", "network_half"),
}
row = "section 6.2, Table 3, rows ({})".format

ablation = Ablation(
    base=base,
    variants=rows(base, 64, 3),
    seeds=3,
    claims=(
        *gains("bleu", {"one head is worse": ("base", "heads_1")}, low=0.3, source=row("A")),
        *gains("bleu", {"too many heads are": ("base", "heads_32")}, low=0.3, source=row("A")),
        *gains("bleu", {"narrow keys hurt": ("base", "keys_quarter")}, low=0.3, source=row("B")),
        *gains("bleu", bigger, low=0.3, source=row("C")),
        *gains("bleu", {"dropout helps": ("base", "dropout_0")}, low=0.3, source=row("D")),
        Claim(
            text="learned positions change nearly nothing",
            estimand=Difference("bleu", "learned", "base"),
            low=-1.0,
            high=1.0,
            source=row("E"),
        ),
    ),
    settings={
        "paper": Setting(
            changes=paper,
            variants=rows(paper_base, 512, 6) | {"big": vary(paper_base, big)},
            published=figures("Vaswani et al. 2017", "Table 3", "bleu", table_3),
        )
    },
)
