"""Which attention is best, and what does each step add?  Luong et al. 2015, Tables 1 and 4.

From a deep LSTM without attention (11.3 BLEU on WMT 2014 English-German) the paper goes up by
reversing the source (12.6), dropout (14.0), attention by location (16.8), input feeding (18.1),
local attention (19.0) and copied unknown words (20.9); Table 4 crosses scores and alignments.

Here dates as people write them in two languages become yyyy-mm-dd, character by character, three
seeds: base 55 % right, reversed 21 %, with dropout 0.4 % (both hurt: the year is asked for first,
and often stands last); by location 79 %, fed 81 %; dot, general, concat 100 %; local-m 84 % (dot)
and 69 %, local-p 100 %. Three minutes on two cores.

    attnjax run luong2015
    attnjax run luong2015 --setting paper    # WMT 2014 English-German, through TFDS
"""

from attnjax.attention.align import LocalMonotonic, LocalPredictive
from attnjax.attention.score import Additive, Dot, Location
from attnjax.data.batching import Batching
from attnjax.data.corpora.tfds import Translation
from attnjax.data.generated.dates import Dates
from attnjax.data.vocabulary import SplitWords
from attnjax.evaluation.unknown_words import CopyUnknown
from attnjax.experiment import Ablation, Experiment, Setting, figures, gains, vary
from attnjax.models.rnn_decoders import LuongDecoder, NoInputFeeding
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.training.optimizers import Adam, Constant, GradientDescent, Halving
from attnjax.training.settings import Training

general = Experiment(
    task=Dates(locales="en,de", formats="full;long;medium"),
    model=Seq2Seq(
        width=32,
        encoder=Encoder(width=64, direction="backward"),
        decoder=LuongDecoder(width=64),
        dropout=0.2,
    ),
    optimizer=Adam(schedule=Constant(value=5e-3), clip=5.0),
    training=Training(steps=300, batching=Batching(max_tokens=1_024, shapes=2)),
)
words = SplitWords(max_size=50_000)
paper = {
    "task": Translation(vocabulary=words, target_vocabulary=words, max_length=50),
    "model.width": 1000,
    "model.encoder.width": 1000,
    "model.decoder.width": 1000,
    "model.**.layers": 4,
    "objective.smoothing": 0.0,
    # a rate of 1 and a norm of 5 for means over sentences, of 30 words each; ours are over words
    "optimizer": GradientDescent(
        schedule=Halving(value=30.0, after=281_250, every=35_156), clip=5 / 30
    ),
    "training": Training(steps=421_875, batching=Batching(max_tokens=3_840)),
}
score, align = "model.decoder.attention.score", "model.decoder.attention.align"
local_m, local_p = LocalMonotonic(), LocalPredictive()
location = vary(general, {score: Location(max_length=128)})
no_feeding = vary(location, {"model.decoder.feeding": NoInputFeeding()})
dropout = vary(general, {"model.decoder.attention": None})
reverse = vary(dropout, {"model.dropout": 0.0})
local_p_general = vary(general, {align: local_p})
helps = {"attention helps": ("no_feeding", "dropout")}
helps |= {"input feeding helps": ("location", "no_feeding")}
helps |= {"local-p beats location": ("local_p_general", "location")}
table_1 = {"base": 11.3, "reverse": 12.6, "dropout": 14.0, "no_feeding": 16.8}
table_4 = {"location": 18.1, "dot": 18.6, "general": 17.3, "local_m_general": 18.6}
table_4 |= {"local_p_dot": 18.0, "local_p_general": 19.0}
published = figures("Luong et al. 2015", "Table 1", "bleu", table_1)
published += figures("Luong et al. 2015", "Table 4", "bleu", table_4)

ablation = Ablation(
    base=general,
    variants={
        "base": vary(reverse, {"model.encoder.direction": "forward"}),
        "reverse": reverse,
        "dropout": dropout,
        "no_feeding": no_feeding,
        "location": location,
        "dot": vary(general, {score: Dot()}),
        "general": general,
        "local_m_dot": vary(general, {score: Dot(), align: local_m}),
        "local_m_general": vary(general, {align: local_m}),
        "local_p_dot": vary(general, {score: Dot(), align: local_p}),
        "local_p_general": local_p_general,
        "concat": vary(general, {score: Additive()}),
        "local_p_concat": vary(general, {score: Additive(), align: local_p}),
    },
    seeds=3,
    claims=gains("exact_match", helps, low=0.02),
    published=published,
    settings={
        "paper": Setting(
            changes=paper,
            variants={"replaced": vary(local_p_general, paper | {"unknown": CopyUnknown()})},
            claims=gains("bleu", helps, low=0.5),
            published=published
            + figures("Luong et al. 2015", "Table 1", "bleu", {"replaced": 20.9}),
        )
    },
)
