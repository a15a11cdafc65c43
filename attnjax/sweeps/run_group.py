"""Runs a group of seeds: they are trained together, and each is decoded and measured."""

from dataclasses import replace

from rich.console import Console

from attnjax.console import print_line
from attnjax.data.corpus import Corpus
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.experiment import Experiment
from attnjax.reporting.number import number
from attnjax.runs import failures
from attnjax.runs.lease import Leases
from attnjax.runs.provenance import code
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
    cost: TrainingCost,
    data: Corpus,
    leases: Leases,
    title: str,
    console: Console,
) -> None:
    """Train the runs of a group, which this process has leased, together, and finish each.

    `cost` is that of the variant's runs; the other arguments are those of `train_group`, which this
    raises the errors of, and of `finish`.
    """
    first = next(iter(group.values()))
    variant = first.variant
    made_by = code(plan.loaded.path)  # the sources may be edited during the training
    setup, outcomes = train_group(
        plan,
        experiment,
        setup,
        data,
        [Run(folder=folder, seed=wanted.seed) for folder, wanted in group.items()],
        group,
        leases,
        title=title,
        console=console,
        say=lambda sentence: print_line(console, f"{variant}: {sentence}"),
        # the axis of seeds stays when few of the runs are left
        stacked=len(first.together or group) > 1,
        profiled_steps=plan.profiled_steps,
    )
    for (folder, wanted), outcome in zip(group.items(), outcomes, strict=True):
        seed = wanted.seed
        initial = setup.initial_state(seed).params if experiment.measures else None
        with console.status(f"{variant}: decoding and measuring seed {seed}"):
            result = finish(folder, wanted, experiment, data.of_seed(seed), outcome, initial)
        leases.check()
        write_result(folder, replace(result, code=made_by, cost=replace(cost, steps=result.step)))
        failures.forget(folder)
        where = "" if folder.parent.name == variant else f", {folder.parent.name}"
        measured = [each for each in map(Measurement.of, result.metrics) if each.better]
        shown = ", ".join(f"{each.key} {number(each.value)}" for each in measured)
        print_line(console, f"{variant}{where}, seed {seed}: {shown}")
