"""Training a group of runs, which this process has leased, in one program."""

from collections.abc import Sequence

from rich.console import Console

from attnjax.config.console import print_line
from attnjax.lab.loop import loop
from attnjax.lab.loop.run_state import Run
from attnjax.lab.runs.data_digests import check_run, with_data
from attnjax.lab.runs.initial_parameters import with_initial_parameters
from attnjax.lab.runs.lease import Leases
from attnjax.lab.runs.provenance import code
from attnjax.lab.runs.run_folder import claim_folder, supersede
from attnjax.lab.runs.same_training import copy_same_training
from attnjax.lab.sweeps.finish import validation_score
from attnjax.lab.sweeps.groups import Group, TrainedGroup
from attnjax.lab.sweeps.multi_process import announced
from attnjax.lab.sweeps.plan import RunSpec


def train(group: Group, leases: Leases, console: Console) -> TrainedGroup:
    """Train the runs of a group to their ends; each goes on from its last checkpoint.

    Their folders get manifests before the first step. A finished run that is lengthened is made an
    unfinished one once something is saved.
    """
    request, data = group.stage.variant.request, group.trainable.data
    loaded, experiment = request.loaded, group.trainable.experiment
    made_by = code(loaded.path)  # the sources may be edited during the training
    for folder in group.folders:
        check_run(folder, data)
    wanted = {run.folder: with_data(run.manifest, data) for run in group.runs}
    for folder, manifest in wanted.items():
        claim_folder(folder, manifest, loaded, data.vocabularies)
    title = f"{group.title}, tuning" if group.stage.tunes else group.title
    variant = group.stage.variant
    alike = [request.folder / name for name in loaded.ablation.trained_alike(variant.name)]
    if same := copy_same_training(group.folders, variant.folder, alike):
        print_line(console, f"{title}: copies the training of {same.name}, which is the same")
    # runs that go on alone keep the shapes of their group, and the axis of seeds
    first = group.runs[0].manifest
    setup = group.trainable.setup.of_seeds(data, first.group_seeds)
    stacked = None if group.stage.tunes else len(first.together) > 1
    runs = _runs(group.runs, tunes=group.stage.tunes)
    setup, begun = with_initial_parameters(
        setup, experiment, data.vocabularies, runs, request.above
    )
    if begun and not group.stage.tunes:
        print_line(console, f"{group.stage.variant.name}: {begun}")

    def lengthen() -> None:
        for folder, manifest in wanted.items():
            supersede(folder, manifest, loaded, data.vocabularies)

    with announced(experiment, data, setup, loaded, runs, stacked=stacked):
        outcomes = loop.train(
            runs,
            setup,
            console=console,
            title=title,
            stacked=stacked,
            before_save=leases.check,
            after_save=lengthen,
            profiled_steps=0 if group.stage.tunes else request.profiled_steps,
            score=validation_score(experiment, data),
        )
    leases.check()
    lengthen()  # a run whose patience has ended has saved nothing
    return TrainedGroup(outcomes, setup, made_by)


def _runs(planned: Sequence[RunSpec], *, tunes: bool) -> list[Run]:
    """Return the trainings of a group. Only those that tune differ in their schedule."""
    return [
        Run(
            folder=run.folder,
            seed=run.seed,
            schedule=run.experiment.optimizer.schedule if tunes else None,
            may_diverge=tunes,
        )
        for run in planned
    ]
