"""Does attention help on Multi30k, and is a tiny Transformer as good as reported?  Wu et al. 2021.

Wu et al. (ACL 2021, Table 1) train Transformer-Tiny on the 29,000 pairs of Multi30k English-German,
lower-cased, tokenised and split by a joint BPE of 10,000 merges. Their test2016 figure is 41.02
BLEU: beam 5, length penalty 1, the last ten epochs averaged, at most 8,000 steps. Here: 39.84 after
3,100 steps (--training.steps 3100; 52 epochs, 76 minutes on two busy cores, one seed).

Twelve epochs, three seeds: Luong's attention (dot) 34.8 BLEU, states' mean 24.1, the last state
19.0. The longest quarter gains 1.1 more over the mean than the shortest (-1.5 to 4.0), 3.4 less
over the last state (-6.6 to 0.1): undecided. 60 to 77 minutes each on busy cores. With the score
general one seed of three never learnt to attend (23.6 BLEU; the others 34.7 and 33.7).

    attnjax run multi30k --variant tiny --seeds 1    # ATTNJAX_DATA names what multi30k-bpe is in
    attnjax run multi30k --variant luong --variant average --variant fixed_vector
"""

from attnjax.attention.align import Uniform
from attnjax.attention.attend import Attention
from attnjax.attention.multihead import MultiHead
from attnjax.attention.score import Dot
from attnjax.data.batches import Batching
from attnjax.data.files import ParallelText
from attnjax.data.vocabulary import SplitWords
from attnjax.decoding.normalisation import Power
from attnjax.decoding.search import Beam
from attnjax.evaluation.by_length import ByLength
from attnjax.evaluation.measures import Heatmaps
from attnjax.experiment import Ablation, Claim, Difference, Experiment, LengthGain, figures, vary
from attnjax.models.cells import Cho2014
from attnjax.models.decoders import BahdanauDecoder, LuongDecoder
from attnjax.models.layers import DecoderLayer, EncoderLayer, FeedForward
from attnjax.models.recurrence import Encoder
from attnjax.models.recurrent import Recurrent
from attnjax.models.transformer import Transformer
from attnjax.training.objective import CrossEntropy
from attnjax.training.optimizer import Adam, Cosine, InverseSquareRoot
from attnjax.training.settings import Training

heads = MultiHead(heads=4)
feed_forward, batching = FeedForward(width=256), Batching(tokens=8_192, shapes=10)

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
    optimizer=Adam(schedule=InverseSquareRoot(peak=0.005, warmup=2_000), epsilon=1e-8, clip=25.0),
    training=Training(steps=8_000, patience=10, average=10, batching=batching),
    search=Beam(size=5, normalisation=Power(alpha=1.0)),
)

by_dot = LuongDecoder(attention=Attention(score=Dot()), width=256)
luong = vary(
    base,
    {
        "task.target_vocabulary": SplitWords(),
        "model": Recurrent(width=128, encoder=Encoder(width=128), decoder=by_dot, dropout=0.2),
        "optimizer.schedule": Cosine(peak=0.003, warmup=500, decay=5_500),
        "optimizer.clip": 1.0,
        "training": Training(steps=6_000, average=3, batching=Batching(tokens=1_024)),
        "measures": (ByLength(), Heatmaps()),
    },
)
average = Attention(score=Dot(), align=Uniform())
additive = BahdanauDecoder(width=256, maxout=128)
gain = Difference("bleu", better="luong", worse="average")
longer = LengthGain(metric="bleu", better="luong", worse="average")
longer_than_last = LengthGain(metric="bleu", better="luong", worse="fixed_vector")

ablation = Ablation(
    base=base,
    variants={
        "tiny": base,
        "luong": luong,
        "bahdanau": vary(luong, {"model.decoder": additive, "model.encoder.cell": Cho2014()}),
        "fixed_vector": vary(luong, {"model.decoder.attention": None, "measures": (ByLength(),)}),
        "average": vary(luong, {"model.decoder.attention": average}),
    },
    seeds=3,
    claims=(
        Claim(text="attention beats one vector, the mean", quantity=gain, low=0.5),
        Claim(text="and by more on long sentences", quantity=longer, low=0.0),
        Claim(text="and so over the last state", quantity=longer_than_last, low=0.0),
    ),
    published=figures("Wu et al. 2021", "Table 1", "bleu", {"tiny": 41.02}),
)
