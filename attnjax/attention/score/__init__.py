"""Scores: from queries and keys to logits; parts around a score; biases of logits."""

from attnjax.attention.score.base import (
    Additive as Additive,
    Dot as Dot,
    DotProduct as DotProduct,
    General as General,
    Location as Location,
    Salience as Salience,
    ScaledDot as ScaledDot,
    Score as Score,
    WidthScaledDot as WidthScaledDot,
    additive as additive,
    check_widths as check_widths,
    dot as dot,
    general as general,
    location as location,
    salience as salience,
    scaled_dot as scaled_dot,
    soft_cap as soft_cap,
)
from attnjax.attention.score.bucketed import (
    Bucketed as Bucketed,
    distance_bucket as distance_bucket,
)
from attnjax.attention.score.capped import (
    SoftCap as SoftCap,
)
from attnjax.attention.score.kernel import (
    Boxcar as Boxcar,
    DistanceScore as DistanceScore,
    Epanechnikov as Epanechnikov,
    Gaussian as Gaussian,
    Kernel as Kernel,
    LearnedGaussian as LearnedGaussian,
    SquaredExponential as SquaredExponential,
    Triangular as Triangular,
    gaussian as gaussian,
    squared_distance as squared_distance,
)
from attnjax.attention.score.positional import (
    Alibi as Alibi,
    AroundDotProduct as AroundDotProduct,
    PositionScore as PositionScore,
    Relative as Relative,
    Rotary as Rotary,
    alibi as alibi,
    alibi_slopes as alibi_slopes,
    relative as relative,
    rotary as rotary,
)
