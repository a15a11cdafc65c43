"""Groups of runs that train together, in one program: trained, and seeds decoded and measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from rich.console import Console

from attnjax.console import print_line
from attnjax.data.corpus import Corpus
from attnjax.evaluation.measurement import Measurement
from attnjax.experiment import Experiment
from attnjax.reporting.number import number
from attnjax.runs import failures
from attnjax.runs.data_digests import check_run, with_data
from attnjax.runs.initial_parameters import with_initial_parameters
from attnjax.runs.lease import Leases
from attnjax.runs.manifest import Manifest
from attnjax.runs.provenance import code
from attnjax.runs.run_folder import claim_folder, supersede, write_result
from attnjax.sweeps.costs import Costs, costs
from attnjax.sweeps.finish import finish, validation_score
from attnjax.sweeps.multi_process import announced
from attnjax.sweeps.plan import Sweep
from attnjax.training.loop.loop import train
from attnjax.training.loop.run_state import Run, TrainResult
from attnjax.training.train_setup import TrainSetup


@dataclass(frozen=True)
class Trainable:
    """A resolved experiment with its data; its batches and its costs are made once, if needed."""

    experiment: Experiment
    data: Corpus

    @cached_property
    def setup(self) -> TrainSetup:
        return TrainSetup.of(self.experiment.recipe, self.data)

    @cached_property
    def costs(self) -> Costs:
        return costs(self.experiment, self.data)


def train_group(
    plan: Sweep,
    trainable: Trainable,
    runs: Mapping[Run, Manifest],
    leases: Leases,
    *,
    title: str,
    console: Console,
    say: Callable[[str], None] = lambda _: None,
    stacked: bool | None = None,
    profiled_steps: int = 0,
) -> tuple[TrainSetup, list[TrainResult]]:
    """Train leased runs: the setup that they were trained with, and the result of each.

    The options are those of `train`.
    """
    loaded, experiment, data, alike = plan.loaded, trainable.experiment, trainable.data, [*runs]
    for run in alike:
        check_run(run.folder, data)
    runs = {run: with_data(run.folder, wanted, data) for run, wanted in runs.items()}
    for run, wanted in runs.items():
        claim_folder(run.folder, wanted, loaded, data.vocabularies)
    # a run that goes on alone keeps the shapes of its group
    setup = trainable.setup.of_seeds(data, runs[alike[0]].group_seeds)
    setup, begun = with_initial_parameters(setup, experiment, data.vocabularies, alike, plan.above)
    if begun:
        say(begun)

    def lengthen() -> None:
        for run, wanted in runs.items():
            supersede(run.folder, wanted, loaded, data.vocabularies)

    with announced(experiment, data, setup, loaded, alike, stacked=stacked):
        outcomes = train(
            alike,
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


def run_group(
    plan: Sweep,
    trainable: Trainable,
    group: Mapping[Path, Manifest],
    leases: Leases,
    title: str,
    console: Console,
) -> None:
    """Train the seeds of a group, whose runs this process has leased, and finish each."""
    experiment, cost = trainable.experiment, trainable.costs.training
    first = next(iter(group.values()))
    variant = first.variant
    made_by = code(plan.loaded.path)  # the sources may be edited during the training
    setup, outcomes = train_group(
        plan,
        trainable,
        {Run(folder=folder, seed=wanted.seed): wanted for folder, wanted in group.items()},
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
            data = trainable.data.of_seed(seed)
            result = finish(folder, wanted, experiment, data, outcome, initial)
        leases.check()
        write_result(folder, replace(result, code=made_by, cost=replace(cost, steps=result.step)))
        failures.forget(folder)
        where = "" if folder.parent.name == variant else f", {folder.parent.name}"
        measured = [each for each in map(Measurement.of, result.metrics) if each.better]
        shown = ", ".join(f"{each.key} {number(each.value)}" for each in measured)
        print_line(console, f"{variant}{where}, seed {seed}: {shown}")
