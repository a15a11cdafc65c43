"""The runs of an experiment that are to be launched, and the command of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnjax.cli.catalog import find
from attnjax.config.override import Override
from attnjax.errors import UserError
from attnjax.experiment.load import ExperimentFile, load
from attnjax.runs.initial_parameters import source_of
from attnjax.runs.sweep import Sweep, unfinished_runs


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the user asks for: an experiment, and which of its runs.

    Attributes:
        experiment: the name of a shipped experiment, or a file.
        setting: the setting of the experiment; None: none.
        variants: the names of the variants; (): all.
        seeds: the number of runs of each variant; None: as the file says.
        runs: the results' folder.
        overrides: changes to every variant.
    """

    experiment: str
    setting: str | None = None
    variants: tuple[str, ...] = ()
    seeds: int | None = None
    runs: Path = Path("runs")
    overrides: tuple[Override, ...] = ()

    @classmethod
    def of(cls, *, variant: Sequence[str], overrides: Sequence[Override], **given: Any) -> "Wanted":
        """From the arguments of a command: see `launch.arguments.wanted`."""
        variants = tuple(dict.fromkeys(variant))
        return cls(variants=variants, overrides=tuple(overrides), **given)

    def load(self) -> ExperimentFile:
        """The experiment file, in its setting."""
        return load(find(self.experiment)).at(self.setting)

    def sweep(self, loaded: ExperimentFile) -> Sweep:
        """The runs of the experiment file."""
        return Sweep(
            loaded=loaded,
            variants=self.variants,
            seeds=self.seeds,
            folder=self.runs.resolve() / loaded.folder,
            overrides=self.overrides,
        )

    def words(self, file: str, folder: str) -> list[str]:
        """The arguments of `attnjax run` for the whole experiment.

        Args:
            file: the experiment file, where it is run.
            folder: the results' folder, where it is run.
        """
        return [file, "--runs", folder, *self.changed]

    @property
    def changed(self) -> list[str]:
        """The arguments that choose a setting and change the variants."""
        setting = ["--setting", self.setting] if self.setting else []
        return setting + [word for one in self.overrides for word in one.words]

    def again(self, site: Path | None) -> list[str]:
        """The arguments that launch the same again, from any folder.

        Args:
            site: the site file.
        """
        words = self.words(str(find(self.experiment).resolve()), str(self.runs.resolve()))
        return words + self.chosen + ([] if site is None else ["--site", str(site.resolve())])

    @property
    def chosen(self) -> list[str]:
        """The arguments that choose variants and seeds."""
        seeds = [] if self.seeds is None else ["--seeds", str(self.seeds)]
        return [word for name in self.variants for word in ("--variant", name)] + seeds


@dataclass(frozen=True, kw_only=True)
class LaunchedRun:
    """One job: a run, or all the runs of a variant that is tuned first.

    Attributes:
        variant: the name of the variant.
        seeds: the seeds of its runs.
        folders: the folder of each run.
        needs: the folder of the run that this run begins with; None: it draws its parameters.
    """

    variant: str
    seeds: tuple[int, ...]
    folders: tuple[Path, ...]
    needs: Path | None = None

    @property
    def name(self) -> str:
        """The run, or the variant, below the experiment's folder."""
        return f"{self.variant}/{self.folders[0].name}" if len(self.seeds) == 1 else self.variant

    @property
    def words(self) -> list[str]:
        """The arguments of `attnjax run` that choose it."""
        seeds = [word for seed in self.seeds for word in ("--seed", str(seed))]
        return ["--variant", self.variant, *seeds]


def launched(plan: Sweep) -> list[LaunchedRun]:
    """The runs that are not finished, a job each; a variant that is to be tuned is one job.

    Raises:
        UserError: there is nothing to run, or the experiment cannot be run as it is.
    """
    found: list[LaunchedRun] = []
    for variant, experiment in plan.chosen().items():
        tuned = plan.tuner(variant, experiment).tuned()
        left = unfinished_runs(plan.runs(variant, tuned or experiment))
        runs = [(folder, one.seed) for folder, one in left.items()]
        for job in [[one] for one in runs] if tuned else [runs] if runs else []:
            folders, seeds = zip(*job, strict=True)
            begins = experiment.initial_parameters_from is not None
            needs = source_of(experiment, seeds[0], plan.above) if begins else None
            found.append(LaunchedRun(variant=variant, seeds=seeds, folders=folders, needs=needs))
    if not found:
        raise UserError(f"all runs of {plan.folder} are finished: there is nothing to launch")
    return found


def stages(runs: Sequence[LaunchedRun]) -> list[list[LaunchedRun]]:
    """The runs in stages: a run that begins with another's parameters comes in a later one.

    Raises:
        UserError: runs need each other in a circle.
    """
    left, found = list(runs), []
    while left:
        waiting = {folder for one in left for folder in one.folders}
        ready = [one for one in left if one.needs not in waiting]
        if not ready:
            raise UserError(f"{left[0].name} begins, through others, with its own parameters")
        found.append(ready)
        left = [one for one in left if one not in ready]
    return found
