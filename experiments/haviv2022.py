"""Does a language model have to be told where a word stands?  Haviv et al. 2022, in small.

A Transformer without positions sees a set of words; but if each word sees only those before it, it
can tell how many there are. Haviv et al. train large language models with four kinds of positions
(Table 1, perplexity on WikiText-103 and on an excerpt of the Pile): without any they are 0.027 and
0.004 nats worse than with learned ones, ALiBi is 0.035 and 0.042 nats better. Here the same four
are trained by the recipe of github.com/karpathy/nanoGPT for a laptop's CPU, `language_model
--setting nanogpt_cpu`: 4 layers of 128, 2,000 updates on tiny Shakespeare, 1.88 nats with learned
positions, which is the variant that its author chose the recipe for. That is another text, of
characters, another size and another length (64), so the paper's perplexities are not comparable:
the claims are about the sign and the order of the differences. A shape, not the paper's setting.

Sinusoids are added to embeddings that are multiplied by sqrt(D), as in Vaswani et al., section 3.4:
embeddings of deviation 0.02 would vanish beside them. The paper has sinusoids 0.013 nats better
than learned positions, which five seeds of this size cannot tell from 0: that is not asked.

Seeds 21 to 25 were trained while the second region had the wrong sign: 2.91 bits a character
without positions, 2.71 with learned ones, 2.75 with sinusoids, 2.64 with ALiBi. The regions are
those that stood before; seeds 31 to 35 are new.

Came out: not without positions, yes for ALiBi. 2.93 bits a character without positions, 2.72 with
learned ones, 2.65 with ALiBi: 0.15 nats worse, each seed more than 0.1, and 0.05 better, each seed
more than 0.01. `language_model`, with windows twice as long and four times the text, finds the same
distance without positions, 0.2 bits. Sinusoids have no records: nothing is claimed of them.

    attnjax run haviv2022    # ATTNJAX_DATA names what tinyshakespeare is in; 3 to 4 minutes a run
"""

import math

import attnjax
from attnjax.attention import Alibi, Learned, ScaledDot, Sinusoidal
from attnjax.experiment import Ablation, Claim, Difference, Value, figures, vary

base = attnjax.load("language_model").at("nanogpt_cpu").ablation.base
bits = "bits_per_character"
NAT = 1 / math.log(2)
"""A nat, in bits."""

trained = Value(bits, "learned") <= 1.95 * NAT

ablation = Ablation(
    base=base,
    variants={
        "learned": vary(base, {"model.position": Learned(max_length=64)}),
        "none": base,
        "sinusoidal": vary(
            base, {"model.position": Sinusoidal(), "model.input_scale": "sqrt_width"}
        ),
        "alibi": vary(base, {"model.**.head.score": Alibi(score=ScaledDot())}),
    },
    seeds=5,
    first_seed=31,
    claims=(
        Claim(
            text="without positions at most 0.1 nats from learned ones",
            estimand=Difference(bits, better="none", worse="learned"),
            low=-0.1 * NAT,
            high=0.1 * NAT,
            given=trained,
            kind="reduced",
            source="Haviv et al. 2022, Table 1, WikiText-103",
            quote="20.97 and 20.42, perplexity of words",
        ),
        Claim(
            text="ALiBi at least 0.01 nats better than learned positions",
            estimand=Difference(bits, better="alibi", worse="learned"),
            high=-0.01 * NAT,
            given=trained,
            kind="reduced",
            source="Haviv et al. 2022, Table 1, WikiText-103",
            quote="19.71 and 20.42, perplexity of words",
        ),
    ),
    published=figures(
        "Haviv et al. 2022",
        "Table 1, WikiText-103, perplexity",
        "perplexity",
        {"none": 20.97, "learned": 20.42, "sinusoidal": 20.16, "alibi": 19.71},
        why_not="of the words of another text, by a far larger network",
    ),
)
