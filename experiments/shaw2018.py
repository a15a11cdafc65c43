"""How far must a Transformer see apart?  Shaw et al. 2018, Tables 2 and 3.

No records as of now: its 40 runs take some six hours of a core, by their FLOPs. Each distance
between two words has a learned vector, for keys and for values; distances beyond k share one. On
WMT 2014 English-German, newstest2013, k of 0, 1, 2, 4, 16, 64 and 256 have 12.5, 25.5, 25.8, 25.9,
25.8, 25.9 and 25.8 BLEU: without positions the network is lost, and two words on either side are
enough (Table 2). Vectors for keys alone do as well as both, 25.8, those for values alone nearly,
25.3 (Table 3).

Here Multi30k English-German in 2,000 pieces, and the base of `vaswani2017_table3`: 3 layers of
width 64. That file trains one epoch; here are 10, 3,600 updates on 2,048 places, and Noam's factor
is 1. Relative positions stand in the self-attentions, and no others are added to the words. At
k = 0 all distances share a vector, which tells nothing: those networks have no positions at all.
The decoder still knows, by causality, how much it has written. Sentences have 15 words, so that 64
is beyond nearly all; 256 is left out.

"Flat" is judged by the perplexity of a piece, within 0.1: the BLEU of 1,000 sentences varies by
more than a point, so that only the fall at k = 0 and the values alone are claimed in BLEU.

    attnjax run shaw2018    # ATTNJAX_DATA names what multi30k is in
"""

from functools import partial

import attnjax
from attnjax.attention import NoPosition, Relative, RelativeSum, ScaledDot
from attnjax.data import Batching
from attnjax.experiment import Ablation, Claim, Difference, Value, figures, vary
from attnjax.training import Noam, Training

base = vary(
    attnjax.load("vaswani2017_table3").ablation.base,
    {
        "model.position": NoPosition(),
        "optimizer.schedule": Noam(width=64, warmup=800),
        "training": Training(steps=3_600, average=3, batching=Batching(max_tokens=2_048, shapes=4)),
    },
)
heads = [f"model.{side}_layer.self_attention.head" for side in ("encoder", "decoder")]


def keys(distance: int) -> dict[str, Relative]:
    """Return the changes that tell keys their distance."""
    score = Relative(score=ScaledDot(), max_distance=distance)
    return {f"{head}.score": score for head in heads}


def values(distance: int) -> dict[str, RelativeSum]:
    """Return the changes that tell values their distance."""
    return {f"{head}.pool": RelativeSum(max_distance=distance) for head in heads}


learnt = Value("bleu", "clip_2") >= 15.0
table_2, table_3 = (
    partial(Claim, kind="reduced", source=f"Shaw et al. 2018, Table {number}") for number in (2, 3)
)
gain = partial(Difference, "bleu")
apart = partial(Difference, "perplexity")
printed = partial(
    figures, "Shaw et al. 2018", metric="bleu", why_not="of 4.5 million pairs of another corpus"
)

ablation = Ablation(
    base=base,
    variants={
        "clip_0": base,
        **{f"clip_{k}": vary(base, keys(k) | values(k)) for k in (1, 2, 4, 16, 64)},
        "keys_alone": vary(base, keys(16)),
        "values_alone": vary(base, values(16)),
    },
    seeds=5,
    first_seed=31,
    claims=(
        table_2(
            text="without positions a network is worse by 5 BLEU",
            estimand=gain("clip_2", "clip_0"),
            low=5.0,
            given=learnt,
            quote="25.8 and 12.5 BLEU",
        ),
        table_2(
            text="one word on either side is not enough: perplexity 0.05 higher than with two",
            estimand=apart("clip_2", "clip_1"),
            high=-0.05,
            given=learnt,
            quote="25.8 and 25.5 BLEU",
        ),
        *(
            table_2(
                text=f"{k} words are no better than 2, and no worse: perplexity within 0.1",
                estimand=apart(f"clip_{k}", "clip_2"),
                low=-0.1,
                high=0.1,
                given=learnt,
                quote=f"{bleu} and 25.8 BLEU",
            )
            for k, bleu in ((4, 25.9), (16, 25.8), (64, 25.9))
        ),
        table_3(
            text="vectors for keys alone do as well as both: perplexity within 0.1",
            estimand=apart("keys_alone", "clip_16"),
            low=-0.1,
            high=0.1,
            given=learnt,
            quote="25.8 and 25.8 BLEU",
        ),
        table_3(
            text="vectors for values alone do nearly as well: at most 1.5 BLEU less",
            estimand=gain("values_alone", "clip_16"),
            low=-1.5,
            given=learnt,
            quote="25.3 and 25.8 BLEU",
        ),
    ),
    published=printed(
        table="Table 2",
        values={"clip_0": 12.5, "clip_1": 25.5, "clip_2": 25.8, "clip_4": 25.9, "clip_16": 25.8},
    )
    + printed(table="Table 3", values={"keys_alone": 25.8, "values_alone": 25.3}),
)
