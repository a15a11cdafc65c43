"""Runs a group of seeds: they are trained together, and each is decoded and measured."""

from collections.abc import Callable
from dataclasses import replace

from rich.console import Console

from attnjax.data.corpus import Corpus
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.experiment import Experiment
from attnjax.reporting.number import number
from attnjax.runs import failures
from attnjax.runs.lease import Leases
from attnjax.runs.provenance import code
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import write_result
from attnjax.sweeps.finish import finish
from attnjax.sweeps.plan import Sweep
from attnjax.sweeps.seed_groups import Group
from attnjax.sweeps.train_group import train_group
from attnjax.training.loop.run_state import Run
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
    cost: Callable[[], TrainingCost],
) -> None:
    """Train the runs of a group, which this process has leased, together, and finish each.

    `cost` counts what a training of the variant costs, once for all of its groups.
    Arguments are those of `train_group`, which this raises the errors of, and of `finish`.
    """
    first = next(iter(group.values()))
    variant = first.variant
    made_by = code(plan.loaded.path)  # the sources may be edited during the training
    setup, outcomes = train_group(
        plan.loaded,
        experiment,
        setup,
        data,
        [Run(folder=folder, seed=wanted.seed) for folder, wanted in group.items()],
        group,
        leases,
        plan.above,
        title=title,
        console=console,
        say=lambda sentence: say(f"{variant}: {sentence}"),
        # the axis of seeds stays when few of the runs are left
        stacked=len(first.together or group) > 1,
        profiled_steps=plan.profiled_steps,
    )
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
        write_result(folder, replace(result, code=made_by, cost=replace(cost(), steps=result.step)))
        failures.forget(folder)
        where = "" if folder.parent.name == variant else f", {folder.parent.name}"
        say(f"{variant}{where}, seed {wanted.seed}: {_shown(result)}")


def _shown(result: RunResult) -> str:
    """The metrics of a run that have a better direction, in words."""
    measured = map(Measurement.of, result.metrics)
    return ", ".join(f"{each.key} {number(each.value)}" for each in measured if each.better)
