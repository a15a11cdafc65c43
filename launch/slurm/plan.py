"""The unfinished runs of an experiment as jobs, and the command of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnjax.errors import UserError
from attnjax.experiment.load import ExperimentFile
from attnjax.lab.cli.chosen import ChosenExperiment, Seeds, Variants
from attnjax.lab.cli.command import RunsFolder
from attnjax.lab.runs.initial_parameters import source_of
from attnjax.lab.sweeps.found import Found
from attnjax.lab.sweeps.plan import resolve
from attnjax.lab.sweeps.request import Request


@dataclass(frozen=True, kw_only=True)
class Wanted(ChosenExperiment):
    """The experiment, variants and seeds that the user chose, by the options of `attnjax run`."""

    variant: Variants = ()
    seeds: Seeds = None
    runs: RunsFolder = Path("runs")

    def request(self, loaded: ExperimentFile) -> Request:
        """Return what is asked for of the experiment file."""
        return Request(
            loaded=loaded,
            variants=self.variant,
            seeds=self.seeds,
            folder=self.runs.resolve() / loaded.folder,
            overrides=self.overrides,
        )

    def words(self, file: Path | str, runs: Path | str) -> list[str]:
        """Return the arguments of `attnjax run` for these paths, without variants."""
        seeds = [] if self.seeds is None else ["--seeds", str(self.seeds)]
        return [str(file), "--runs", str(runs), *seeds, *self.changed]


@dataclass(frozen=True, kw_only=True)
class LaunchedRun:
    """A job: a run, or all the runs of a variant that is tuned first.

    `needs` is the folder of the run that this run begins with; None: it draws its parameters.
    """

    variant: str
    seeds: tuple[int, ...]
    folders: tuple[Path, ...]
    needs: Path | None = None

    @property
    def words(self) -> list[str]:
        """The arguments of `attnjax run` that choose the job's runs."""
        seeds = [word for seed in self.seeds for word in ("--seed", str(seed))]
        return ["--variant", self.variant, *seeds]


def launched(request: Request) -> list[LaunchedRun]:
    """Return a job for each unfinished run, or for all seeds of a variant to be tuned first."""
    jobs: list[LaunchedRun] = []
    found = Found(resolve(request))
    for variant in found.variants():
        runs = [(run.folder, run.seed) for run in found.unfinished(variant.seeds)]
        for group in [[run] for run in runs] if variant.choice else [runs] if runs else []:
            folders, seeds = zip(*group, strict=True)
            begins = variant.experiment.initial_parameters_from is not None
            needs = source_of(variant.experiment, seeds[0], request.above) if begins else None
            jobs.append(
                LaunchedRun(variant=variant.name, seeds=seeds, folders=folders, needs=needs)
            )
    if not jobs:
        raise UserError(f"all runs of {request.folder} are finished: there is nothing to launch")
    return jobs


def stages(jobs: Sequence[LaunchedRun]) -> list[list[LaunchedRun]]:
    """Sort jobs into stages: a run that starts from another's parameters is in a later stage."""
    left, sorted_jobs = list(jobs), []
    while left:
        waiting = {folder for job in left for folder in job.folders}
        ready = [job for job in left if job.needs not in waiting]
        if not ready:
            raise UserError(f"{left[0].variant} begins, through others, with its own parameters")
        sorted_jobs.append(ready)
        left = [job for job in left if job not in ready]
    return sorted_jobs
