"""How near does attention to known points come, and should it learn its width?  Nadaraya 1964.

A query's value is the mean of the known ones, weighted by a kernel of their distance (Nadaraya
1964; Watson 1964): attention whose score is the distance. Data and the first three variants are
those of d2l.ai 0.17 (Zhang et al.), section 10.2: 50 points of 2 sin x + x^0.8 on [0, 5] with noise
0.5, here other ones for every seed. There the average is "not so smart", the kernel of width 1
"closer to the ground-truth", and the learned one, which leaves each point out in training, "less
smooth".

Beside them stand compact kernels that reach 1 far, and are narrower than a Gaussian of width 1. A
result is the mean squared distance to the truth.

    attnjax run nadaraya_watson
"""

from functools import partial

from attnjax.attention import (
    Attention,
    Boxcar,
    Epanechnikov,
    Gaussian,
    LearnedGaussian,
    Normalize,
    Triangular,
    Uniform,
)
from attnjax.data import DatasetPerSeed, NoisyFunction
from attnjax.evaluation import RegressionError
from attnjax.experiment import Ablation, Claim, Difference, Experiment, vary
from attnjax.models import KernelRegression
from attnjax.training import Adam, Constant, SquaredError, Training

base = Experiment(
    task=NoisyFunction(train=50, valid=50, test=50, sets=10, noise=0.5),
    model=KernelRegression(attention=Attention(score=Gaussian(bandwidth=1.0))),
    objective=SquaredError(),
    optimizer=Adam(schedule=Constant(value=0.05)),
    training=Training(steps=100, batching=DatasetPerSeed(epoch=20, batch_size_multiple=1)),
    measures=(RegressionError(),),
)

attention = "model.attention"
gain = partial(Difference, "squared_error")

ablation = Ablation(
    base=base,
    variants={
        "average": vary(base, {"model.attention.align": Uniform()}),
        "fixed_width": base,
        "learned_width": vary(base, {"model.attention.score": LearnedGaussian(bandwidth=1.0)}),
        "boxcar": vary(base, {attention: Attention(score=Boxcar(), align=Normalize())}),
        "epanechnikov": vary(base, {attention: Attention(score=Epanechnikov(), align=Normalize())}),
        "triangular": vary(base, {attention: Attention(score=Triangular(), align=Normalize())}),
    },
    seeds=10,
    claims=(
        Claim(
            text="a kernel of width 1 is nearer than average pooling",
            estimand=gain("fixed_width", "average"),
            high=-0.05,
            kind="setting",
            source="d2l.ai 0.17, section 10.2.3",
            quote='"closer to the ground-truth"',
        ),
        Claim(
            text="so is the plain mean of what is no farther than 1",
            estimand=gain("boxcar", "average"),
            high=-0.05,
        ),
        Claim(
            text="a learned width is nearer than width 1",
            estimand=gain("learned_width", "fixed_width"),
            high=-0.01,
        ),
    ),
)
