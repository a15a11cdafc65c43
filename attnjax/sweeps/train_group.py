"""Trains leased runs together: claimed folders, initial parameters, all processes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from attnjax.data.corpus import Corpus
from attnjax.experiment import Experiment
from attnjax.runs.initial_parameters import with_initial_parameters
from attnjax.runs.lease import Leases
from attnjax.runs.manifest import Manifest
from attnjax.runs.run_folder import claim_folder, supersede
from attnjax.sweeps.finish import validation_score
from attnjax.sweeps.multi_process import announced
from attnjax.sweeps.plan import Sweep
from attnjax.training.loop.run_state import Run, TrainResult
from attnjax.training.loop.train import train
from attnjax.training.train_setup import TrainSetup


def train_group(
    plan: Sweep,
    experiment: Experiment,
    setup: TrainSetup,
    data: Corpus,
    runs: Sequence[Run],
    wanted: Mapping[Path, Manifest],
    leases: Leases,
    *,
    title: str,
    console: Console,
    say: Callable[[str], None] = lambda _: None,
    stacked: bool | None = None,
    profiled_steps: int = 0,
) -> tuple[TrainSetup, list[TrainResult]]:
    """The setup that the runs were trained with, and the result of each.

    The experiment is resolved, `setup` has its recipe and batches; `wanted` are the folders and
    manifests of the runs; the options are those of `train`.

    Raises:
        Exception: as `train`, `claim_folder`, `with_initial_parameters`.
        Lost: another process has taken a run over.
    """
    loaded = plan.loaded
    for folder, own in wanted.items():
        claim_folder(folder, own, loaded, data.vocabularies)
    # a run that goes on alone keeps the shapes of its group
    setup = setup.of_seeds(data, next(iter(wanted.values())).group_seeds)
    setup, begun = with_initial_parameters(setup, experiment, data.vocabularies, runs, plan.above)
    if begun:
        say(begun)
    lengthen = partial(supersede, wanted, loaded, data.vocabularies)
    with announced(experiment, data, setup, loaded, runs, stacked=stacked):
        outcomes = train(
            runs,
            setup,
            console=console,
            title=title,
            stacked=stacked,
            before_save=leases.check,
            after_save=lengthen,
            profiled_steps=profiled_steps,
            score=validation_score(experiment, data),
        )
    leases.check()
    lengthen()  # a run whose patience has ended has saved nothing
    return setup, outcomes
