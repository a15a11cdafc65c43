"""Does attention by location help, on five new seeds?  Luong et al. 2015, Table 1.

Of the steps of `luong2015_multi30k`, which has three seeds, attention by location was the one that
added as much there as in the paper: 3.7 BLEU, the paper 2.8. What is found in one study may be its
luck; so the claim is asked here alone, of seeds that were never trained, with the same regions.
Input feeding, the step after it, is in neither of the two networks. Came out: 3.79 BLEU (3.38 to
4.19), and 3.8 lower in perplexity.

    attnjax run luong2015_location    # ATTNJAX_DATA names what multi30k is in; 20 minutes a run
"""

import attnjax
from attnjax.experiment import Ablation, Claim, Difference, Value

steps = attnjax.load("luong2015_multi30k").ablation
dropout, location = steps.variants["dropout"], steps.variants["location"]
has_learnt = Value("bleu", "location") >= 5.0

ablation = Ablation(
    base=dropout,
    variants={"dropout": dropout, "location": location},
    seeds=5,
    first_seed=41,
    claims=(
        Claim(
            text="attention by location adds 0.5 BLEU",
            estimand=Difference("bleu", better="location", worse="dropout"),
            low=0.5,
            given=has_learnt,
            kind="reduced",
            source="Luong et al. 2015, Table 1",
            quote="+2.8 BLEU",
        ),
        Claim(
            text="attention by location lowers the perplexity",
            estimand=Difference("perplexity", better="location", worse="dropout"),
            high=-0.1,
            given=has_learnt,
            kind="reduced",
            source="Luong et al. 2015, Table 1",
            quote="8.1 and 7.3 in perplexity",
        ),
    ),
    published=tuple(
        figure for figure in steps.published if figure.variant in ("dropout", "location")
    ),
)
