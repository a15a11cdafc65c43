"""Does one learning rate suit all widths?  Yang et al. 2022 (Tensor Programs V).

In the usual parametrization, every matrix drawn with the variance 1 / fan-in and one rate of Adam
for all parameters, a wider network wants a smaller rate. In the maximal update parametrization
(muP) initial values, rates and scales go with the width such that the best rate stays where it is,
so that it can be found with a narrow network.

Language models of two layers read characters of tiny Shakespeare (blocks of 64, batches of 8, 150
updates: minutes, not the paper's hours), with widths 32, 64, 128 and 256, at rates from 2^-11 to
2^-3; mup_256_1in128 is 256 wide, at the rate 2^-7. At width 32 both parametrizations are the same
network. How steeply the best rate falls is read off a parabola through the best rate and the two
beside it, for each seed. The characters' own entropy is 4.8 bits: at least 4.2 is wanted of what
the slopes are read off.

The shape of the paper's Figure 1, whose networks are far wider and trained far longer; the regions
are ours. Looked at before, with seed 100 and our own loop: the standard parametrization at
widths 32, 128 and 256 and muP at 128, by which initial values, rates, and the number of updates
were chosen, and the last region set at 0.05 instead of 0.1.

Came out: all four. The exponent of the best rate is -1.17 in the usual parametrization, less than
half the rate for twice the width, and -0.03 in muP. At the narrow network's rate the widest is 0.71
bits worse in the usual parametrization, and 0.13 better in muP.

    attnjax run mup    # ATTNJAX_DATA names what tinyshakespeare is in
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from attnjax.attention import Learned, MultiHead, WidthScaledDot
from attnjax.data import Batching, Characters, RawText
from attnjax.evaluation import Perplexity
from attnjax.experiment import (
    Ablation,
    Claim,
    Difference,
    Experiment,
    OptimumSlope,
    Value,
    vary,
)
from attnjax.models import DecoderLayer, FeedForward, LanguageModel
from attnjax.nn import GPTInit, MuPInit
from attnjax.training import Adam, Cosine, CrossEntropy, Training

BASE, HEADS = 32, 4
WIDTHS, RATES = (BASE, 64, 128, 256), tuple(1 / 2**power for power in (11, 9, 7, 5, 3))
bits = "bits_per_character"

base = Experiment(
    task=RawText(vocabulary=Characters(), length=64, train_stride=1, valid=0.0, test=0.02),
    model=LanguageModel(
        width=BASE,
        num_layers=2,
        layer=DecoderLayer(
            self_attention=MultiHead(heads=HEADS, bias=True),
            cross_attention=None,
            feed_forward=FeedForward(width=4 * BASE, activation="gelu_tanh"),
        ),
        position=Learned(max_length=64),
        dropout=0.0,
        initializer=GPTInit(std=BASE**-0.5),
    ),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(
        schedule=Cosine(peak=RATES[0], warmup=30, decay=120), b2=0.99, epsilon=1e-8, clip=1.0
    ),
    training=Training(steps=150, batching=Batching(max_tokens=8 * 64, shapes=1)),
    measures=(Perplexity(),),
)
mup = {
    "model.initializer": MuPInit(std=BASE**-0.5, base_width=BASE),
    "model.base_width": BASE,
    "model.**.head.score": WidthScaledDot(base_key_width=BASE // HEADS),
    "optimizer.base_width": BASE,
}


def at(width: int, rate: float, changes: Mapping[str, Any]) -> Experiment:
    """Return the network of a width, all of whose layers are as much wider, at a rate."""
    wide = {"model.width": width, "model.**.feed_forward.width": 4 * width}
    return vary(base, {**wide, "optimizer.schedule.peak": rate, **changes})


def name_of(kind: str, width: int, rate: float) -> str:
    """Return the name of a variant: "mup_256_1in128"."""
    return f"{kind}_{width}_1in{1 / rate:g}"


def slope(kind: str) -> OptimumSlope:
    """Return how the best rate of a parametrization goes with the width."""
    over = tuple((name_of(kind, width, rate), rate, width) for width in WIDTHS for rate in RATES)
    return OptimumSlope(bits, over=over, tried="rate", axis="width")


def at_one_rate(kind: str, *, better: int, worse: int) -> Difference:
    """Return what a width gains over another at the rate 1/32, at which narrow networks do well."""
    names = (name_of(kind, width, 1 / 32) for width in (better, worse))
    return Difference(bits, *names)


narrow_learns = Value(bits, name_of("mup", BASE, 1 / 32)) <= 4.2
figure_1 = partial(Claim, kind="reduced", source="Yang et al. 2022, Figure 1")

ablation = Ablation(
    base=base,
    variants={
        **{
            name_of("standard", width, rate): at(
                width, rate, {"model.initializer.std": width**-0.5}
            )
            for width in WIDTHS
            for rate in RATES
        },
        **{name_of("mup", width, rate): at(width, rate, mup) for width in WIDTHS for rate in RATES},
    },
    seeds=5,
    first_seed=1,
    claims=(
        figure_1(
            text="standard: a network twice as wide wants a rate at most 0.7 times as large",
            estimand=slope("standard"),
            high=-0.5,
            given=narrow_learns,
        ),
        figure_1(
            text="muP: one rate is the best at all widths, within a fifth for twice the width",
            estimand=slope("mup"),
            low=-0.25,
            high=0.25,
            given=narrow_learns,
        ),
        figure_1(
            text="standard: at the narrow network's rate the widest is worse",
            estimand=at_one_rate("standard", better=BASE, worse=WIDTHS[-1]),
            high=-0.1,
            given=narrow_learns,
        ),
        figure_1(
            text="muP: at the narrow network's rate the widest is better",
            estimand=at_one_rate("mup", better=WIDTHS[-1], worse=BASE),
            high=-0.05,
            given=narrow_learns,
        ),
    ),
)
