"""Which attention solves which task?  The arena.

Eight tasks that are drawn at random, each with lengths that training has not seen, and the layers
that language models have today, all in one small network: two layers of width 64, a feed-forward
network of 128, 2 heads. Tasks are those of the papers, in their generators, and smaller, so that a
row, one layer on all eight tasks, takes a quarter of an hour on two cores: they tell what a layer
can learn at this size, not what the papers' networks do. Every update reads new examples. The
learning rate of every row is tuned on every task, alike for all, by the validation loss at lengths
of training; then three other seeds are trained.

- recall: four keys with values, and every key once more (Arora et al. 2023); longer, more between
- induction: what came after a symbol that stands in the text once before (Fu et al. 2022)
- parity: is the number of 1s odd? (Deletang et al. 2023; Grazzi et al. 2025)
- cycle: where does a walk on a circle of five places end? (Deletang et al. 2023)
- arithmetic: + - * modulo 5 (Deletang et al. 2023)
- copy, reverse: a string twice, or backwards, all at once, at empty symbols (Deletang et al. 2023)
- brackets: which of two kinds are open after each symbol (Bhattamishra et al. 2020)

Widths and depths are equal, and so nearly are parameters; what a layer keeps of the text is not,
and stands beside: keys and values of every word with softmax, two matrices of 32 x 32 in linear
attention and its successors, 128 numbers in an LSTM. Softmax turns by rotary positions unless a row
says otherwise, the recurrent ones have none.

    attnjax run arena --variant parity-softmax --variant parity-lstm
    attnjax run mine.py --records    # your own row beside these: docs/arena.md
"""

from attnjax.attention import (
    Alibi,
    Attention,
    DecayedState,
    DeltaRule,
    DifferentialHeads,
    Forgetting,
    HeadDecay,
    Learned,
    LinearAttention,
    MultiHead,
    NoPosition,
    OffByOne,
    OutputGate,
    Rotary,
    ScaledDot,
    Sigmoid,
    SigmoidDecay,
    Sink,
    Sinusoidal,
    Softpick,
    StickBreaking,
    TalkingHeads,
    WordDecay,
)
from attnjax.data import (
    Batching,
    CycleNavigation,
    DuplicateString,
    InductionHead,
    LabeledPlaces,
    ModularArithmetic,
    MultiQueryRecall,
    Parity,
    ReverseString,
    ShuffledBrackets,
)
from attnjax.evaluation import LabelAccuracy, StateSize
from attnjax.experiment import (
    Ablation,
    Claim,
    Crossing,
    Difference,
    Experiment,
    Value,
    crossed,
    vary,
)
from attnjax.models import CausalRecurrence, DecoderLayer, FeedForward, Labeler
from attnjax.models.transformer_layers import Interleaved
from attnjax.nn import RMSNorm
from attnjax.training import Adam, Cosine, LabelEntropy, Training

BATCH = 64
RIGHT, BEYOND = "label_accuracy", "label_accuracy_beyond"


def layer(mixer: MultiHead) -> DecoderLayer:
    """Return a layer of every row but for its mixer."""
    return DecoderLayer(
        self_attention=mixer, cross_attention=None, feed_forward=FeedForward(width=128)
    )


rotary = MultiHead(heads=2, head=Attention(score=Rotary()))


def column(task: LabeledPlaces, updates: int, longest: int) -> Experiment:
    """Return softmax on a task, with new examples in each update; `longest` counts all words."""
    drawn = vary(task, {"train": updates * BATCH, "valid": 512, "test": 1024})
    return Experiment(
        task=drawn,
        model=Labeler(
            width=64, num_layers=2, layer=layer(rotary), position=NoPosition(), initializer=None
        ),
        objective=LabelEntropy(),
        optimizer=Adam(
            schedule=Cosine(peak=3e-3, warmup=updates // 20, decay=updates - updates // 20),
            clip=1.0,
            weight_decay=0.1,
        ),
        training=Training(
            steps=updates,
            batching=Batching(max_tokens=BATCH * longest, batch_size=BATCH, shapes=1),
        ),
        measures=(LabelAccuracy(longest=longest), StateSize()),
    )


# sources are longer than strings: by an empty symbol, or by an answer
columns = {
    "recall": column(
        MultiQueryRecall(symbols=32, shortest=16, longest=16, test_longest=64, test_every=8),
        updates=600,
        longest=16,
    ),
    "induction": column(
        InductionHead(
            symbols=16, asked="last", shortest=8, longest=24, test_longest=96, test_every=24
        ),
        updates=600,
        longest=24,
    ),
    "parity": column(Parity(longest=16, test_longest=64, test_every=8), updates=600, longest=17),
    "cycle": column(
        CycleNavigation(longest=16, test_longest=64, test_every=8), updates=1000, longest=17
    ),
    "arithmetic": column(
        ModularArithmetic(longest=11, test_longest=39, test_every=4), updates=1500, longest=12
    ),
    "copy": column(
        DuplicateString(longest=8, test_longest=16, test_every=2), updates=600, longest=24
    ),
    "reverse": column(
        ReverseString(longest=10, test_longest=20, test_every=2), updates=600, longest=20
    ),
    "brackets": column(
        ShuffledBrackets(longest=20, test_longest=60, test_every=5), updates=600, longest=20
    ),
}

mixer = "model.layer.self_attention"
score, head = f"{mixer}.head.score", f"{mixer}.head"


def recurrent(part: DecayedState | DeltaRule | LinearAttention) -> dict:
    """Return the changes of a row whose heads have a state, as their models have it.

    The contexts of each head are normalized, and multiplied by a gate.
    """
    return {
        head: part,
        f"{mixer}.context_norm": RMSNorm(),
        f"{mixer}.gate": OutputGate(activation="silu"),
    }


gated_delta = recurrent(DeltaRule(decay=WordDecay(), largest_strength=2.0))
rows = {
    "softmax": {},
    "learned": {"model.position": Learned(max_length=128), score: ScaledDot()},
    "sinusoidal": {
        "model.position": Sinusoidal(),
        "model.input_scale": "sqrt_width",
        score: ScaledDot(),
    },
    "alibi": {score: Alibi()},
    "no_position": {score: ScaledDot()},
    "query_key_norm": {f"{mixer}.query_key_norm": RMSNorm()},
    "sink": {f"{head}.align": Sink()},
    "off_by_one": {f"{head}.align": OffByOne()},
    "sigmoid": {f"{head}.align": Sigmoid()},
    "softpick": {f"{head}.align": Softpick()},
    "stick_breaking": {f"{head}.align": StickBreaking(), score: ScaledDot()},
    "talking_heads": {f"{head}.align": TalkingHeads()},
    "differential": {mixer: DifferentialHeads(heads=4, head=rotary.head)},
    "gated_output": {f"{mixer}.gate": OutputGate()},
    "forgetting": {f"{head}.bias": Forgetting(), score: ScaledDot()},
    "linear": {head: LinearAttention()},
    "retention": recurrent(DecayedState(decay=HeadDecay())),
    "gated_linear": recurrent(DecayedState(decay=SigmoidDecay())),
    "mamba2": recurrent(DecayedState(decay=WordDecay(discretized=True))),
    "delta": recurrent(DeltaRule()),
    "delta_to_2": recurrent(DeltaRule(largest_strength=2.0)),
    "gated_delta": gated_delta,
    "interleaved": {
        **gated_delta,
        "model.interleaved": Interleaved(layer=layer(rotary), period=2),
    },
    "lstm": {mixer: CausalRecurrence()},
}
variants = crossed(columns, rows)

learnt = Value(RIGHT, "parity-lstm") >= 0.99
ablation = Ablation(
    base=variants["recall-softmax"],
    variants=variants,
    seeds=3,
    first_seed=1,
    tune={"optimizer.schedule.peak": (1e-3, 3e-3, 1e-2)},
    tune_seeds=1,
    crossing=Crossing(rows=tuple(rows), columns=dict.fromkeys(columns, (RIGHT, BEYOND))),
    claims=(
        Claim(
            text="recall: softmax at least 0.2 above linear attention",
            estimand=Difference(RIGHT, "recall-softmax", "recall-linear"),
            low=0.2,
            given=Value(RIGHT, "recall-softmax") >= 0.97,
            source="Arora et al. 2023, Figure 2; Zhang et al. 2024, Table 2",
        ),
        Claim(
            text="parity beyond the trained length: an LSTM at least 0.2 above softmax",
            estimand=Difference(BEYOND, "parity-lstm", "parity-softmax"),
            low=0.2,
            given=learnt,
            source="Deletang et al. 2023, Table 2",
        ),
        Claim(
            text="parity beyond the trained length: strengths up to 2 at least 0.2 above up to 1",
            estimand=Difference(BEYOND, "parity-delta_to_2", "parity-delta"),
            low=0.2,
            given=Value(RIGHT, "parity-delta_to_2") >= 0.99,
            source="Grazzi et al. 2025, Table 2",
        ),
    ),
)
