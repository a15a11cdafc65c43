"""Runs points of a grid that differ only in the learning rate's schedule, in one program."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from attnjax.config.vary import vary
from attnjax.data.corpus import Corpus
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.runs.lease import leased
from attnjax.runs.manifest import Manifest
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import write_result
from attnjax.sweeps.train_group import train_group
from attnjax.training.checkpoints.disk import writable
from attnjax.training.loop.run_state import Run
from attnjax.training.train_setup import TrainSetup


def run_points(
    loaded: ExperimentFile,
    experiment: Experiment,
    runs: Sequence[Run],
    wanted: Mapping[Path, Manifest],
    corpus: Corpus,
    above: Path,
    *,
    title: str,
    console: Console,
) -> None:
    """Train the runs of points, and write their results; nothing is decoded.

    The experiment is resolved, and the runs, which are not finished, have schedules of their own;
    the other arguments are those of `train_group`.

    Raises:
        Taken: another process trains one of the points.
        UserError: a mistake that the user can correct.
    """
    # in no process: the lowest loss is chosen
    experiment = vary(experiment, {"training.scoring": None})
    with writable(runs[0].folder), leased(run.folder for run in runs) as leases:
        together = tuple(f"seed-{seed}" for seed in loaded.ablation.tuning_seeds)
        wanted = {folder: replace(own, together=together) for folder, own in wanted.items()}
        setup = TrainSetup.of(experiment.recipe, corpus)
        _, outcomes = train_group(
            loaded,
            experiment,
            setup,
            corpus,
            runs,
            wanted,
            leases,
            above,
            title=title,
            console=console,
        )
        for run, outcome in zip(runs, outcomes, strict=True):
            variant = wanted[run.folder].variant
            write_result(run.folder, RunResult.of(outcome, variant=variant, seed=run.seed))
