"""Does a GPT end at the loss that its lecture prints?  Karpathy's "Let's build GPT".

Findings: 1.815 nats (1.809 to 1.822), five seeds.
The last network of the lecture, github.com/karpathy/ng-video-lecture: 4 layers of 64 with 4 heads
read 32 characters of tiny Shakespeare, in batches of 16, and predict the next of each, 5,000
updates. Its last line, of step 4,999, has a loss of 1.8222 nats on the last tenth of the text.
People who repeat it print 1.8221 and 1.8275, and 1.8342 with initial values of 0.02; the digits are
theirs, of the same program, with its seed.

All of the recipe is the lecture's: AdamW with 1e-3, b2 0.999 and decay 0.01, no warm-up, no
dropout, PyTorch's initial values, a bias in all linear maps but those of queries, keys and values,
logits divided by the root of the model's width, not of the head's. The network has the lecture's
209,729 parameters, and 516 of four symbols that never occur. `differs` says what is not the
lecture's. The region is 0.03 nats to both sides, set by us.

Looked at before: seed 100 of this file, 2.626 bits, which is 1.820 nats; and two seeds of the same
network with one table for input and output, 1.813 and 1.831.

`gpt_ladder` asks what each part of the network gives.

    attnjax run gpt_lecture    # ATTNJAX_DATA names what tinyshakespeare is in; two minutes a run
"""

import math

from attnjax.attention import Attention, Learned, MultiHead, WidthScaledDot
from attnjax.data import Batching, Characters, RawText
from attnjax.evaluation import Perplexity
from attnjax.experiment import Ablation, Claim, Experiment, Value, figures
from attnjax.models import DecoderLayer, FeedForward, LanguageModel, PreNorm
from attnjax.nn import InitByName, InitRule, LayerNorm, NormalInit, UniformInit
from attnjax.training import Adam, Constant, CrossEntropy, Training

WIDTH, HEADS, LENGTH, BATCH = 64, 4, 32, 16
DRAWN = {
    "*feed_forward.out.kernel": UniformInit(scale=(4 * WIDTH) ** -0.5),
    "*kernel": UniformInit(scale=WIDTH**-0.5),
    "output_embedding": UniformInit(scale=WIDTH**-0.5),
    "*embedding": NormalInit(std=1.0),
}
"""PyTorch's initial values of linear maps and embeddings."""

gpt = Experiment(
    task=RawText(vocabulary=Characters(), length=LENGTH, train_stride=1, valid=0.0),
    model=LanguageModel(
        width=WIDTH,
        num_layers=4,
        layer=DecoderLayer(
            self_attention=MultiHead(
                # sqrt(K_0) / K is 1 / sqrt(D)
                head=Attention(score=WidthScaledDot(base_key_width=WIDTH // HEADS**2)),
                heads=HEADS,
                bias="output",
            ),
            cross_attention=None,
            feed_forward=FeedForward(width=4 * WIDTH),
        ),
        position=Learned(max_length=LENGTH),
        residual=PreNorm(norm=LayerNorm(epsilon=1e-5)),
        dropout=0.0,
        embeddings="separate",
        output_bias=True,
        initializer=InitByName(
            rules=tuple(InitRule(parameters=name, initializer=of) for name, of in DRAWN.items())
        ),
    ),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=Constant(value=1e-3), b2=0.999, epsilon=1e-8, weight_decay=0.01),
    training=Training(
        steps=4_999,
        batching=Batching(max_tokens=BATCH * LENGTH, shapes=1, batch_size_multiple=BATCH),
    ),
    measures=(Perplexity(),),
)
bits, NAT = "bits_per_character", 1 / math.log(2)

ablation = Ablation(
    base=gpt,
    variants={"gpt": gpt},
    seeds=5,
    first_seed=1,
    claims=(
        Claim(
            text="a GPT of 4 layers of 64: 1.82 nats, within 0.03",
            estimand=Value(bits, "gpt"),
            low=1.79 * NAT,
            high=1.85 * NAT,
            kind="figure",
            source="Karpathy, Let's build GPT, last cell",
            quote="step 4999, val loss 1.8222",
            bound="the printed loss, 0.03 nats to both sides",
        ),
    ),
    published=figures("Karpathy", "Let's build GPT, last cell", bits, {"gpt": 1.8222 * NAT}),
    differs={
        "loss": ("of 200 random batches of the tenth", "of all of it, in windows of 32"),
        "weight decay": ("of all parameters", "of weights alone"),
        "biases": ("drawn as PyTorch does", "0 at the start"),
    },
)
