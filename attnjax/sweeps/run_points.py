"""Runs points of a grid that differ only in the learning rate's schedule, in one program."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from attnjax.config.vary import vary
from attnjax.data.corpus import Corpus
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.runs.initial_parameters import with_initial_parameters
from attnjax.runs.lease import leased
from attnjax.runs.manifest import Manifest
from attnjax.runs.result import RunResult
from attnjax.runs.run_folder import claim_folder, supersede, write_result
from attnjax.sweeps.multi_process import announced
from attnjax.training.checkpoints.disk import writable
from attnjax.training.loop.run_state import Run
from attnjax.training.loop.train import train
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

    Args:
        loaded: the experiment file.
        experiment: the resolved experiment; the runs have schedules of their own.
        runs: those that are not finished.
        wanted: their folders and manifests.
        corpus: the data of the experiment's task.
        above: the folder of all runs.
        title: the name of the tuning on the console.
        console: shows the progress.

    Raises:
        Taken: another process trains one of the points.
        UserError: a mistake that the user can correct.
    """
    # in no process: the lowest loss is chosen
    experiment = vary(experiment, {"training.scoring": None})
    with writable(runs[0].folder), leased(run.folder for run in runs) as leases:
        seeds = loaded.ablation.tuning_seeds
        together = tuple(f"seed-{seed}" for seed in seeds)
        for folder, own in wanted.items():
            claim_folder(folder, replace(own, together=together), loaded, corpus.vocabularies)
        lengthen = partial(supersede, wanted, loaded, corpus.vocabularies)
        setup = TrainSetup.of(experiment.recipe, corpus).of_seeds(corpus, seeds)
        setup, _ = with_initial_parameters(setup, experiment, corpus.vocabularies, runs, above)
        with announced(experiment, corpus, setup, loaded, runs):
            outcomes = train(
                runs,
                setup,
                console=console,
                title=title,
                before_save=leases.check,
                after_save=lengthen,
            )
        leases.check()
        lengthen()
        for run, outcome in zip(runs, outcomes, strict=True):
            variant = wanted[run.folder].variant
            write_result(run.folder, RunResult.of(outcome, variant=variant, seed=run.seed))
