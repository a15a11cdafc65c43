"""The content of an experiment file: experiments, variants, claims and published figures."""

from attnjax.config.vary import vary
from attnjax.evaluation.measurement import MetricKey
from attnjax.experiment.ablation import Ablation, Published, Setting, figures
from attnjax.experiment.claims import Claim, gains
from attnjax.experiment.estimands import (
    Count,
    Difference,
    Estimand,
    LengthGain,
    SentenceDifference,
    Slope,
    Value,
)
from attnjax.experiment.experiment import Experiment
from attnjax.experiment.load import load

__all__ = [
    "Ablation",
    "Claim",
    "Count",
    "Difference",
    "Estimand",
    "Experiment",
    "LengthGain",
    "MetricKey",
    "Published",
    "SentenceDifference",
    "Setting",
    "Slope",
    "Value",
    "figures",
    "gains",
    "load",
    "vary",
]
