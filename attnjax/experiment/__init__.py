"""The content of an experiment file: experiments, variants, claims and published figures."""

from attnjax.config.vary import vary as vary
from attnjax.evaluation.measurement import MetricKey as MetricKey
from attnjax.experiment.ablation import (
    Ablation as Ablation,
    Published as Published,
    Setting as Setting,
    figures as figures,
)
from attnjax.experiment.best import AboveBest as AboveBest, BestOf as BestOf
from attnjax.experiment.claims import Claim as Claim, Kind as Kind, gains as gains
from attnjax.experiment.crossing import Crossing as Crossing
from attnjax.experiment.entry import crossed as crossed, enter as enter
from attnjax.experiment.estimands import (
    Condition as Condition,
    Count as Count,
    Difference as Difference,
    Estimand as Estimand,
    Slope as Slope,
    Value as Value,
)
from attnjax.experiment.experiment import Experiment as Experiment
from attnjax.experiment.load import load as load
from attnjax.experiment.seed_share import AlikeShare as AlikeShare, SeedShare as SeedShare
from attnjax.experiment.trend import LengthGain as LengthGain, OptimumSlope as OptimumSlope
