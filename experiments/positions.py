"""Which positions hold at lengths that training never saw?  Vaswani 2017, Press 2022, Shaw 2018.

Vaswani et al. (section 3.5) chose sinusoids because they "may allow the model to extrapolate to
sequence lengths longer than the ones encountered during training". Press et al. (section 2.2) find
that they hardly do, and that ALiBi does. Shaw et al. (section 3.2) clip distances so that a model
generalizes to other lengths, Su et al. (section 1) name flexible lengths as a property of rotary
positions. All of them measured translation or language models.

Here a Transformer copies or sorts numbers: 5 to 16 in training, 5 to 28 in the test, which is cut
into six parts by length, so that parts 4 to 6 are past training. A score around a score stands in
every attention, that from target to source too, where copying looks at distance 0. The learned
positions have 64 rows; those past 17 are never trained. Sorting needs no positions.

A claim that something breaks is judged if the network copies what is as long as in training. Press
et al.'s own numbers, of language models, were not tried.

    attnjax run positions
    attnjax run positions --setting tuned
"""

from functools import partial

from attnjax.attention import Alibi, Learned, MultiHead, NoPosition, Relative, Rotary
from attnjax.data import Batching, Copy, Sort, WithTest
from attnjax.decoding import Greedy
from attnjax.evaluation import ByLength
from attnjax.experiment import (
    Ablation,
    Claim,
    Difference,
    Experiment,
    MetricKey,
    Setting,
    Value,
    vary,
)
from attnjax.models import DecoderLayer, EncoderLayer, FeedForward, Transformer
from attnjax.training import Adam, CrossEntropy, InverseSquareRoot, Training

heads, feed_forward = MultiHead(heads=4), FeedForward(width=64)
copy = Experiment(
    task=WithTest(task=Copy(shortest=5, longest=16), test=Copy(shortest=5, longest=28)),
    model=Transformer(
        width=32,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
        dropout=0.0,
    ),
    objective=CrossEntropy(smoothing=0.0),
    optimizer=Adam(schedule=InverseSquareRoot(peak=0.007, warmup=100)),
    training=Training(steps=600, batching=Batching(max_tokens=1_024, shapes=2)),
    search=Greedy(),
    measures=(ByLength(parts=6),),
)
sort = vary(copy, {"task.task": Sort(shortest=5, longest=16)})
sort = vary(sort, {"task.test": Sort(shortest=5, longest=28)})
none = {"model.position": NoPosition()}
schemes = {
    "none": none,
    "sinusoidal": {},
    "learned": {"model.position": Learned(max_length=64)},
    "rotary": {**none, "model.**.score": Rotary()},
    "alibi": {**none, "model.**.score": Alibi()},
    "relative": {**none, "model.**.score": Relative(max_distance=8)},
}
inside, next_to, far = (MetricKey("exact_match", part=(part, 6)) for part in (2, 4, 6))
press = "Press et al. 2022, section 2.2, of language models"
beats = partial(Difference, far)
learnt, rows_learnt = (Value(inside, name) >= 0.9 for name in ("copy_sinusoidal", "copy_learned"))

claims = (
    Claim(
        text="copying needs positions",
        estimand=Value(inside, "copy_none"),
        high=0.05,
        given=learnt,
    ),
    Claim(
        text="copying: sinusoids break at lengths past training",
        estimand=Value(far, "copy_sinusoidal"),
        high=0.5,
        given=learnt,
        kind="stand-in",
        source=press,
    ),
    Claim(
        text="copying: learned rows that were never trained break at once",
        estimand=Value(next_to, "copy_learned"),
        high=0.05,
        given=rows_learnt,
    ),
    Claim(
        text="copying, far: ALiBi beats sinusoids",
        estimand=beats("copy_alibi", "copy_sinusoidal"),
        low=0.02,
        given=learnt,
        kind="stand-in",
        source=press,
    ),
    Claim(
        text="copying, far: rotary beats sinusoids",
        estimand=beats("copy_rotary", "copy_sinusoidal"),
        low=0.02,
        given=learnt,
    ),
    Claim(
        text="copying, far: clipped distances hold",
        estimand=Value(far, "copy_relative"),
        low=0.9,
        kind="stand-in",
        source="Shaw et al. 2018, section 3.2",
    ),
    Claim(
        text="sorting needs no positions",
        estimand=Difference(inside, "sort_none", "sort_sinusoidal"),
        low=-0.05,
    ),
    Claim(
        text="sorting, just past training: none beats learned",
        estimand=Difference(next_to, "sort_none", "sort_learned"),
        low=0.02,
        given=Value(inside, "sort_learned") >= 0.9,
    ),
)

ablation = Ablation(
    base=copy,
    variants={
        f"{task}_{scheme}": vary(experiment, changes)
        for task, experiment in (("copy", copy), ("sort", sort))
        for scheme, changes in schemes.items()
    },
    seeds=6,
    first_seed=10,
    claims=claims,
    settings={
        "tuned": Setting(
            changes={"training.steps": 3_000},
            tune={"optimizer.schedule.peak": (0.002, 0.005, 0.01)},
            claims=claims,
        )
    },
)
