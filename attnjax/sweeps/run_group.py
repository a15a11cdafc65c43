"""Runs a group of seeds: they are trained together, and each is decoded and measured."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rich.console import Console

from attnjax.data.corpus import Corpus
from attnjax.evaluation.measurement import Measurement
from attnjax.experiment import Experiment
from attnjax.reporting.number import number
from attnjax.runs import failures
from attnjax.runs.initial_parameters import with_initial_parameters
from attnjax.runs.lease import Leases
from attnjax.runs.provenance import code
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import claim_folder, supersede, write_result
from attnjax.sweeps.finish import finish, validation_score
from attnjax.sweeps.multi_process import announced
from attnjax.sweeps.plan import Sweep
from attnjax.sweeps.seed_groups import Group
from attnjax.training.loop.run_state import Run
from attnjax.training.loop.train import train
from attnjax.training.train_setup import TrainSetup


def run_group(
    plan: Sweep,
    group: Group,
    experiment: Experiment,
    setup: TrainSetup,
    data: Corpus,
    leases: Leases,
    *,
    title: str,
    console: Console,
    say: Callable[[str], None],
) -> None:
    """Train the runs of a group together, and finish each.

    Args:
        plan: the sweep.
        group: the runs, which this process has leased.
        experiment: the resolved experiment of the variant.
        setup: its recipe and batches.
        data: the corpus of its task.
        leases: of the runs.
        title: the name of the group on the console.
        console: shows the progress.
        say: prints a sentence.

    Raises:
        Exception: as `train`, `finish`, `claim_folder`, `with_initial_parameters`.
        Lost: another process has taken a run over.
    """
    for folder, wanted in group.items():
        claim_folder(folder, wanted, plan.loaded, data.vocabularies)
    variant, *_ = (wanted.variant for wanted in group.values())
    seeds = [Run(folder=folder, seed=wanted.seed) for folder, wanted in group.items()]
    # a run that goes on alone keeps the shapes of its group
    setup = setup.of_seeds(data, next(iter(group.values())).group_seeds)
    setup, begun = with_initial_parameters(setup, experiment, data.vocabularies, seeds, plan.above)
    if begun:
        say(f"{variant}: {begun}")
    stacked = _stacked(group)
    lengthen = partial(supersede, group, plan.loaded, data.vocabularies)
    made_by = code(plan.loaded.path)  # the sources may be edited during the training
    with announced(experiment, data, setup, plan.loaded, seeds, stacked=stacked):
        outcomes = train(
            seeds,
            setup,
            console=console,
            title=title,
            stacked=stacked,
            before_save=leases.check,
            after_save=lengthen,
            profiled_steps=plan.profiled_steps,
            score=validation_score(experiment, data),
        )
    leases.check()
    lengthen()  # a run whose patience has ended has saved nothing
    for (folder, wanted), outcome in zip(group.items(), outcomes, strict=True):
        initial = setup.initial_state(wanted.seed).params if experiment.measures else None
        with console.status(f"{variant}: decoding and measuring seed {wanted.seed}"):
            result = finish(
                folder,
                experiment,
                data.of_seed(wanted.seed),
                outcome,
                initial,
                variant=variant,
                seed=wanted.seed,
            )
        leases.check()
        write_result(folder, replace(result, code=made_by))
        failures.forget(folder)
        say(f"{variant}, seed {wanted.seed}: {_shown(result)}")


def _stacked(group: Group) -> bool:
    """Whether a group's arrays have an axis of seeds, which stays when few of its runs are left."""
    together = next(iter(group.values())).together
    return len(together or group) > 1


def _shown(result: RunResult) -> str:
    """The metrics of a run that have a better direction, in words."""
    measured = map(Measurement.of, result.metrics)
    return ", ".join(f"{one.key} {number(one.value)}" for one in measured if one.better)
