"""Does attention keep long sentences whole?  Bahdanau et al. 2015, Table 1 and Figure 2.

"The performance of RNNencdec dramatically drops as the length of the sentences increases", that of
RNNsearch, whose decoder attends to the source, does not. BLEU on newstest2014: 13.93 and 17.82
without attention, trained on sentences of up to 30 and of up to 50 words, 21.50 and 26.75 with it.

Here sequences of 2 to 10 symbols are reversed: of 16 the vector keeps nothing, so that the gain by
length was what the ends 0 and 1 left of it. It is judged if the vector keeps half of the shortest
quarter. `bahdanau2015_multi30k` translates.

The paper's settings have the paper's model, initial values, vocabularies, lengths, batches,
Adadelta and updates of Table 2; `differs` says what is not the paper's.

    attnjax run bahdanau2015
    attnjax run bahdanau2015 --setting paper    # or paper_30; WMT 2014, through TFDS
"""

from functools import partial
from typing import Any

from attnjax.attention import LastState
from attnjax.data import Batching, MosesWords, Reverse, Translation
from attnjax.decoding import Beam
from attnjax.evaluation import Alignment, ByLength
from attnjax.experiment import (
    Ablation,
    Claim,
    Condition,
    Difference,
    Experiment,
    Kind,
    LengthGain,
    MetricKey,
    Setting,
    Value,
    figures,
    vary,
)
from attnjax.models import BahdanauDecoder, Encoder, GRUResetBefore, Seq2Seq
from attnjax.nn import InitByName, InitRule, NormalInit, OrthogonalInit, ZerosInit
from attnjax.training import Adadelta, Adam, Constant, CrossEntropy, Training

base = Experiment(
    task=Reverse(symbols=20, shortest=2, longest=10),
    model=Seq2Seq(
        width=32,
        encoder=Encoder(cell=GRUResetBefore(), width=48),
        decoder=BahdanauDecoder(width=96, maxout=48),
        dropout=0.0,
    ),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=Constant(value=3e-3), clip=1.0),
    training=Training(steps=800, batching=Batching(max_tokens=1_024, shapes=3)),
    search=Beam(),
    measures=(ByLength(), Alignment()),
)
first_values = (
    InitRule(parameters="*.recurrent", initializer=OrthogonalInit()),
    InitRule(parameters="*bias", initializer=ZerosInit()),
    InitRule(parameters="*", initializer=NormalInit(std=0.01)),
)
alignment_values = (
    InitRule(parameters="*.score.v", initializer=ZerosInit()),
    InitRule(parameters="*.score.*", initializer=NormalInit(std=0.001)),
)
paper = {
    "task": Translation(
        name="wmt14_translate/fr-en",
        source="en",
        target="fr",
        train="train[:12000000]",
        vocabulary=MosesWords(language="en", max_size=30_000),
        target_vocabulary=MosesWords(language="fr", max_size=30_000),
    ),
    "model.initializer": InitByName(rules=first_values),
    "model.width": 620,
    "model.encoder.width": 1000,
    "model.decoder.width": 1000,
    "model.decoder.maxout": 500,
    "optimizer": Adadelta(schedule=Constant(value=30.0), epsilon=1e-6 / 30**2, clip=1 / 30),
    "training": Training(batching=Batching(max_tokens=80 * 51, batch_size=80)),
    "measures": (ByLength(),),
}
one_vector = {"model.decoder.attention": LastState(), "model.encoder.direction": "forward"}
variants = {"search": base, "encdec": vary(base, one_vector)}
differs = {
    "pairs": ("selected by Axelrod et al.'s method (4.1)", "12 million drawn by chance"),
    "validation": ("news-test-2012 and -2013", "newstest2013"),
    "loss": ("a mean over sentences", "over words; Adadelta and the norm scaled: equal updates"),
    "no unknown words": ("Table 1, second column", "`attnjax evaluate RUN --protocols` has it"),
    "RNNsearch-50*": ("28.45 BLEU", "left out"),
}


def trained(words: int, *, search: int, encdec: int) -> dict[str, Any]:
    """Return a setting's changes, with sentences of up to `words` words, and its variants."""
    changes = paper | {"task.max_length": words}
    own = {
        "search": {
            "training.steps": search,
            "model.decoder.attention.score.width": 1000,
            "model.initializer": InitByName(rules=alignment_values + first_values),
        },
        "encdec": {"training.steps": encdec},
    }
    networks = {name: vary(variants[name], changes | own[name]) for name in variants}
    return {"changes": changes, "variants": networks, "differs": differs}


def claims(metric: str, low: float, kind: Kind, kept: Condition | None = None) -> tuple[Claim, ...]:
    """Return the statements of section 5.1, by the metric of a task."""
    more = Difference(metric, better="search", worse="encdec")
    longer = LengthGain(metric=metric, better="search", worse="encdec")
    claim = partial(Claim, low=low, kind=kind, source="Bahdanau et al. 2015, section 5.1")
    beats = '"the proposed RNNsearch outperforms the conventional RNNencdec"'
    drops = '"dramatically drops as the length of the sentences increases"'
    return (
        claim(text="attention beats the vector", estimand=more, quote=beats),
        claim(
            text="attention beats the vector by more on long sentences",
            estimand=longer,
            given=kept,
            quote=drops,
        ),
    )


table_1 = partial(figures, "Bahdanau et al. 2015", "Table 1", "bleu")
kept = Value(MetricKey("exact_match", part=(1, 4)), "encdec") >= 0.5

ablation = Ablation(
    base=base,
    variants=variants,
    seeds=5,
    first_seed=10,
    claims=claims("exact_match", 0.02, "stand-in", kept),
    settings={
        "paper": Setting(
            **trained(50, search=288_000, encdec=600_000),
            claims=claims("bleu", 0.5, "setting"),
            published=table_1({"search": 26.75, "encdec": 17.82}),
        ),
        "paper_30": Setting(
            **trained(30, search=471_000, encdec=846_000),
            claims=claims("bleu", 0.5, "setting"),
            published=table_1({"search": 21.50, "encdec": 13.93}),
        ),
    },
)
