"""What does each part of a GPT give?  Karpathy's lecture "Let's build GPT", part by part.

Findings, in nats: 2.513, 2.409, 2.285, 2.259, 2.348, 2.086, 2.074; two of seven are undecided.
The lecture prints the loss of the last tenth of tiny Shakespeare after each part it adds, of width
32 and 8 characters. `gpt_lecture` has the last network, and the recipe. As there, heads stand side
by side, until the residual connections bring an output map and a hidden layer four times as wide.
Losses are those after 4,500 updates, from there on after 4,999; without attention after 2,700, with
the rate 1e-2. The digits are of people who repeat the runs with the lecture's seed.
Looked at before, in nats: seed 100, 2.410, 2.315, 2.265, 2.339, 2.075, 2.067; seeds 101 and 102,
without attention 2.508 and 2.515, with four heads 2.286 and 2.287. The network without attention
was the lecture's first one, a table of pairs (2.4911), until a pilot of it had been looked at.

    attnjax run gpt_ladder    # ATTNJAX_DATA names what tinyshakespeare is in
"""

import math
from functools import partial

import jax
from flax import linen as nn

import attnjax
from attnjax.attention import Attention, MultiHead, WidthScaledDot
from attnjax.experiment import Ablation, Claim, Difference, Value, figures, vary
from attnjax.models import FeedForwardBase, NoFeedForward, NoResidual, PreNorm
from attnjax.nn import Dense, InitByName, InitRule, NoNorm, NormalInit, UniformInit

lecture = attnjax.load("gpt_lecture").ablation


class SideBySide(MultiHead):
    """The contexts of the heads, side by side."""

    def _merge(self, contexts: jax.Array, inputs: jax.Array) -> jax.Array:
        return contexts.reshape(inputs.shape)


class Rectified(FeedForwardBase):
    """FFN(x) = max(x W + b, 0)."""

    @nn.compact
    def __call__(self, x: jax.Array, *, deterministic: bool) -> jax.Array:
        return nn.relu(Dense((x.shape[-1],), name="hidden")(x))


class Unchanged(FeedForwardBase):
    """FFN(x) = x."""

    def __call__(self, x: jax.Array, *, deterministic: bool) -> jax.Array:
        return x


LINEAR, WIDER = UniformInit(scale=32**-0.5), UniformInit(scale=128**-0.5)
DRAWN = (  # as PyTorch does
    InitRule(parameters="*kernel", initializer=LINEAR),
    InitRule(parameters="output_embedding", initializer=LINEAR),
    InitRule(parameters="*embedding", initializer=NormalInit(std=1.0)),
)
score = WidthScaledDot(base_key_width=2)
norm = vary(
    lecture.base,
    {
        "task.length": 8,
        "model.width": 32,
        "model.num_layers": 3,
        "model.**.score": score,
        "model.layer.feed_forward.width": 128,
        "model.position.max_length": 8,
        "model.initializer": InitByName(
            rules=(InitRule(parameters="*feed_forward.out.kernel", initializer=WIDER), *DRAWN)
        ),
        "training.batching.max_tokens": 32 * 8,
        "training.batching.batch_size_multiple": 32,
    },
)
residual = vary(norm, {"model.residual": PreNorm(norm=NoNorm())})
three_layers = vary(
    residual,
    {
        "model.residual": NoResidual(),
        "model.layer.self_attention": SideBySide(head=Attention(score=score), heads=4),
        "model.layer.feed_forward": Rectified(),
        "model.initializer": InitByName(rules=DRAWN),
        "training.steps": 4_500,
    },
)
feed_forward = vary(three_layers, {"model.num_layers": 1})
four_heads = vary(feed_forward, {"model.layer.feed_forward": Unchanged()})
one_head = vary(four_heads, {"model.**.heads": 1, "model.**.base_key_width": 32})
no_attention = vary(
    residual,
    {
        "model.num_layers": 1,
        "model.layer.self_attention": MultiHead(heads=1, heads_out=(0,)),  # adds nothing
        "model.layer.feed_forward": NoFeedForward(),
        "model.initializer": InitByName(rules=DRAWN),
        "optimizer.schedule.value": 1e-2,
        "training.steps": 2_700,
    },
)
steps = {  # each with the loss that the lecture prints, in nats
    "no_attention": (no_attention, 2.5117),
    "one_head": (one_head, 2.4084),
    "four_heads": (four_heads, 2.2858),
    "feed_forward": (feed_forward, 2.2411),
    "three_layers": (three_layers, 2.3336),
    "residual": (residual, 2.0822),
    "norm": (norm, 2.0595),
}
gains = {  # two networks, and how many nats the first one is better at least
    "one head of attention": ("one_head", "no_attention", 0.05),
    "three more heads": ("four_heads", "one_head", 0.06),
    "a feed-forward network": ("feed_forward", "four_heads", 0.02),
    "residual connections and wider layers": ("residual", "three_layers", 0.1),
    "layer norms": ("norm", "residual", 0.01),
}
bits, NAT = "bits_per_character", 1 / math.log(2)
of_lecture = partial(Claim, source="Karpathy, Let's build GPT")
printed = {name: loss * NAT for name, (_, loss) in steps.items()}

ablation = Ablation(
    base=norm,
    variants={name: network for name, (network, _) in steps.items()},
    seeds=5,
    first_seed=1,
    claims=(
        *(
            of_lecture(
                text=f"{name}: {loss} nats, within 0.03",
                estimand=Value(bits, name),
                low=(loss - 0.03) * NAT,
                high=(loss + 0.03) * NAT,
                kind="figure",
                quote=f"{loss}",
            )
            for name, (_, loss) in steps.items()
        ),
        *(
            of_lecture(
                text=f"{text}: at least {least} nats better",
                estimand=Difference(bits, better=better, worse=worse),
                high=-least * NAT,
                kind="setting",
            )
            for text, (better, worse, least) in gains.items()
        ),
    ),
    published=figures("Karpathy", "Let's build GPT", bits, printed),
    differs=lecture.differs,
)
