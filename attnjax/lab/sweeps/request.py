"""What a command asks for: an experiment file, which of its variants and seeds, what is changed."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from attnjax.config.override import Override
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import Grid
from attnjax.lab.results.record import Record


@dataclass(frozen=True, kw_only=True)
class Request:
    """The runs of an experiment file that a command asks for.

    Attributes:
        variants: the names of the variants to run; (): all.
        seeds: the number of runs of each variant; None: as many as the file says.
        only: the seeds to run, out of these; (): all.
        together: the most seeds that train together; None: see `division`.
        folder: the folder of the experiment, with all its runs.
        by_workers: whether workers of one command train it, each on a device of its own.
        profiled_steps: the number of steps of each training of which a trace is written.
        records: records of files, those of which that fit stand in for runs.
    """

    loaded: ExperimentFile
    variants: tuple[str, ...] = ()
    seeds: int | None = None
    only: tuple[int, ...] = ()
    together: int | None = None
    folder: Path
    overrides: tuple[Override, ...] = ()
    by_workers: bool = False
    profiled_steps: int = 0
    records: tuple[Record, ...] = ()

    @cached_property
    def all_seeds(self) -> range:
        """The seeds of each variant's runs."""
        first = self.loaded.ablation.first_seed
        count = self.loaded.ablation.seeds if self.seeds is None else self.seeds
        return range(first, first + count)

    @property
    def above(self) -> Path:
        """The folder of all experiments' runs."""
        return self.folder.parent

    @cached_property
    def grid(self) -> Grid:
        """The grid that variants are tuned over: the file's grid without overridden fields.

        Overriding a part overrides all of its fields.
        """
        given = tuple(wanted.path for wanted in self.overrides)
        return {
            path: values
            for path, values in self.loaded.ablation.tune.items()
            if not any(f"{path}.".startswith(f"{over}.") for over in given)
        }
