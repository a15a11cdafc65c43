"""What the numbers of an experiment's runs are: shares of what is right, and better if less."""

from collections.abc import Mapping

from attnjax.evaluation.measurement import Better
from attnjax.evaluation.metric import ExactMatch
from attnjax.evaluation.unknown_words import before_replacement
from attnjax.experiment.experiment import Experiment


def shares(experiment: Experiment) -> frozenset[str]:
    """Return the names of the numbers that are the share of what is right."""
    names = {name for measure in experiment.measures for name in measure.shares}
    metric = experiment.metric or (ExactMatch() if experiment.task.answers == "exact" else None)
    if metric is not None and (metric.share or metric.share_of_answers):
        names |= {metric.name, before_replacement(metric).name}
    return frozenset(names)


def directions(experiment: Experiment) -> Mapping[str, Better | None]:
    """Return which direction of a number is better, by its name; None: it judges nothing."""
    known: dict[str, Better | None] = {}
    for measure in reversed(experiment.measures):
        known |= getattr(measure, "numbers", {})
    if (metric := experiment.metric) is not None:
        known |= dict.fromkeys((metric.name, before_replacement(metric).name), metric.better)
    return known


def lower(experiment: Experiment) -> frozenset[str]:
    """Return the names of the numbers of which less is better."""
    return frozenset(name for name, way in directions(experiment).items() if way == "lower")
