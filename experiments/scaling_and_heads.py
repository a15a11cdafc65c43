"""Does 1/sqrt(d_k) matter, and do heads?  Vaswani et al. 2017, sections 3.2.1 and 3.2.2.

"For large values of d_k, the dot products grow large in magnitude, pushing the softmax function
into regions where it has extremely small gradients"; additive attention "outperforms dot product
attention without scaling for larger values of d_k"; several heads "jointly attend to information
from different representation subspaces".

Dates as people write them in four languages, to yyyy-mm-dd, character by character. One head with
keys of width 4 to 256, scaled or not; then one head against four at equal cost. Each variant is
first tuned over three learning rates, by the validation loss of a seed of its own. Seeds 0 to 4
were seen before widths, steps and tuning were as they are now, so the runs have others, 5 to 9.

    attnjax run scaling_and_heads
"""

from functools import partial

from attnjax.attention import Additive, Dot, MultiHead
from attnjax.data import Batching, Dates
from attnjax.decoding import Greedy
from attnjax.evaluation import Alignment, Saturation
from attnjax.experiment import Ablation, Claim, Difference, Experiment, MetricKey, Slope, vary
from attnjax.models import DecoderLayer, EncoderLayer, FeedForward, Transformer
from attnjax.training import Adam, InverseSquareRoot, Training

one_head, feed_forward = MultiHead(heads=1), FeedForward(width=128)
base = Experiment(
    task=Dates(locales="en,de,fr,es", formats="long;medium"),
    model=Transformer(
        width=32,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(self_attention=one_head, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=one_head, cross_attention=one_head, feed_forward=feed_forward
        ),
        dropout=0.0,
    ),
    optimizer=Adam(schedule=InverseSquareRoot(peak=0.006, warmup=100)),
    training=Training(steps=300, batching=Batching(max_tokens=1_024, shapes=1)),
    search=Greedy(),
    measures=(Alignment(), Saturation()),
)

score, key_width = "model.**.score", "model.**.key_width"
widths = (("unscaled_4", 4), ("unscaled_16", 16), ("unscaled_64", 64), ("unscaled_256", 256))
gain = partial(Difference, "exact_match")
initial, trained = partial(MetricKey, moment="initial"), partial(MetricKey, moment="trained")
slope = partial(Slope, over=widths, axis="key width", name="unscaled")
section = 'section 3.2.1: "{}"'.format

ablation = Ablation(
    base=base,
    variants={
        "scaled_16": vary(base, {key_width: 16}),
        "unscaled_16": vary(base, {key_width: 16, score: Dot()}),
        "additive_16": vary(base, {key_width: 16, score: Additive(width=32)}),
        "unscaled_4": vary(base, {key_width: 4, score: Dot()}),
        "unscaled_64": vary(base, {key_width: 64, score: Dot()}),
        "unscaled_256": vary(base, {key_width: 256, score: Dot()}),
        "scaled_256": vary(base, {key_width: 256}),
        "additive_256": vary(base, {key_width: 256, score: Additive(width=32)}),
        "one_head": base,
        "four_heads": vary(base, {"model.**.heads": 4}),
    },
    seeds=5,
    first_seed=5,
    tune={"optimizer.schedule.peak": (0.002, 0.006, 0.018)},
    claims=(
        Claim(
            text="wide keys: scaled beats unscaled",
            estimand=gain("scaled_256", "unscaled_256"),
            low=0.02,
            source=section("To counteract this effect, we scale the dot products"),
        ),
        Claim(
            text="wide keys: additive beats unscaled",
            estimand=gain("additive_256", "unscaled_256"),
            low=0.02,
            source=section(
                "additive attention outperforms dot product attention without scaling for larger "
                "values of d_k"
            ),
        ),
        Claim(
            text="narrow keys: additive and dot product alike",
            estimand=gain("additive_16", "unscaled_16"),
            low=-0.05,
            high=0.05,
            source=section("for small values of d_k the two mechanisms perform similarly"),
        ),
        Claim(
            text="four heads beat one",
            estimand=gain("four_heads", "one_head"),
            low=0.02,
            source='section 3.2.2: "With a single attention head, averaging inhibits this"',
        ),
        Claim(
            text="logits' variance grows as d_k",
            estimand=slope(initial("logit_variance")),
            low=0.95,
            high=1.05,
            source="footnote 4, of independent queries and keys",
        ),
        Claim(
            text="logits' variance grows as d_k after training",
            estimand=slope(trained("logit_variance")),
            low=0.95,
            high=1.05,
        ),
        Claim(
            text="softmax's gradient shrinks with d_k",
            estimand=slope(initial("jacobian_norm")),
            high=-0.05,
            source=section("regions where it has extremely small gradients"),
        ),
    ),
)
