"""Ensembles of trained runs, which are evaluated and answer like one run."""

from collections.abc import Sequence
from dataclasses import replace

from attnjax.config.walk import differences
from attnjax.errors import UserError
from attnjax.models.ensemble import Ensemble
from attnjax.models.sequence_model import SequenceModel
from attnjax.trained.trained_run import Trained


def ensemble(runs: Sequence[Trained]) -> Trained:
    """Join trained runs into one, whose model is the `Ensemble` of their models.

    The models may differ. Search, metric, measures and everything else are those of the first run.
    A single run is returned unchanged.

    Raises:
        UserError: the runs have different tasks or vocabularies, or a model predicts no words.
    """
    first, *others = runs
    if not others:
        return first
    for other in others:
        if task := differences(first.experiment.task, other.experiment.task, "task"):
            path, (ours, theirs) = next(iter(task.items()))
            raise UserError(
                f"the runs of an ensemble must have one task; {path} is {ours!r} in "
                f"{first.folder} and {theirs!r} in {other.folder}"
            )
        if other.vocabularies.digest != first.vocabularies.digest:
            raise UserError(
                f"the runs of an ensemble must have the same vocabularies; those of {first.folder} "
                f"and {other.folder} differ"
            )
    members = []
    for run in runs:
        if not isinstance(run.experiment.model, SequenceModel):
            raise UserError(
                "an ensemble is of models that predict words; "
                f"{run.folder} is of a {type(run.experiment.model).__name__}"
            )
        members.append(run.experiment.model)
    return replace(
        first,
        experiment=replace(first.experiment, model=Ensemble(members=tuple(members))),
        params=Ensemble.params(run.params for run in runs),
        finished=all(run.finished for run in runs),
    )
