"""Is a very small Transformer as good on Multi30k as reported?  Wu et al. 2021, Table 1.

Wu et al. (ACL 2021, "Good for Misconceived Reasons") train Transformer-Tiny on the 29,000 pairs of
Multi30k English-German, lower-cased, tokenised and split by a joint BPE of 10,000 merges. Their
test2016 figure is 41.02 BLEU: lower-cased and tokenised, beam 5, length penalty 1, the last ten
epochs averaged, at most 8,000 steps. Here: 40.16 after 3,100 steps (52 epochs, 86 minutes on two
busy cores, one seed), with --training.steps 3100.

The folder holds train, valid and test.2016 in .en and .de; ATTNJAX_DATA may name the one above it.

    attnjax run multi30k --variant tiny --task.folder path/to/multi30k-bpe
"""

from attnjax.attention.multihead import MultiHead
from attnjax.data.batches import Batching
from attnjax.data.files import ParallelText
from attnjax.data.vocabulary import SplitWords
from attnjax.decoding.normalisation import Power
from attnjax.decoding.search import Beam
from attnjax.experiment import Ablation, Experiment, Published
from attnjax.models.layers import DecoderLayer, EncoderLayer, FeedForward
from attnjax.models.transformer import Transformer
from attnjax.training.objective import CrossEntropy
from attnjax.training.optimizer import Adam, InverseSquareRoot
from attnjax.training.settings import Training

heads = MultiHead(heads=4)
feed_forward = FeedForward(width=256)

base = Experiment(
    task=ParallelText(
        folder="multi30k-bpe",
        source="en",
        target="de",
        train="train",
        valid="valid",
        test="test.2016",
        vocabulary=SplitWords(),
    ),
    model=Transformer(
        width=128,
        encoder_layers=4,
        decoder_layers=4,
        encoder=EncoderLayer(attention=heads, feed_forward=feed_forward),
        decoder=DecoderLayer(attention=heads, cross=heads, feed_forward=feed_forward),
        dropout=0.3,
    ),
    objective=CrossEntropy(smoothing=0.1),
    optimizer=Adam(
        schedule=InverseSquareRoot(peak=0.005, warmup=2_000, start=1e-7),
        b1=0.9,
        b2=0.98,
        epsilon=1e-8,
        clip=25.0,
    ),
    training=Training(
        steps=8_000, patience=10, average=10, batching=Batching(tokens=8_192, shapes=10)
    ),
    search=Beam(size=5, normalisation=Power(alpha=1.0)),
)

ablation = Ablation(
    base=base,
    variants={"tiny": base},
    seeds=1,
    published=(
        Published(
            paper="Wu et al. 2021",
            table="Table 1",
            variant="tiny",
            metric="bleu",
            value=41.02,
            source="BLEU4 = 41.02, 71.0/47.5/34.3/24.5 (BP=0.999)",
        ),
    ),
)
