"""The runs that a command asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attnjax.config.override import Override, apply_possible, override
from attnjax.config.serialize import plain, to_json
from attnjax.config.vary import field_at
from attnjax.config.walk import differences
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import Grid, Point
from attnjax.results.tuning import tied_folder
from attnjax.runs.manifest import Manifest, manifest
from attnjax.runs.run_folder import Verified, finished


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The runs of an experiment file that a command asks for.

    Attributes:
        variants: the names of the variants to run; (): all.
        seeds: the number of runs of each variant; None: as many as the file says.
        only: the seeds to run, out of these; (): all.
        together: the most seeds that train together; None: see `seed_groups.fitting`.
        folder: the folder of the experiment, with all its runs.
        profiled_steps: the number of steps of each training of which a trace is written.
        verified: the results of finished runs whose files were hashed, see `run_folder.result`.
    """

    loaded: ExperimentFile
    variants: tuple[str, ...]
    seeds: int | None
    only: tuple[int, ...] = ()
    together: int | None = None
    folder: Path
    overrides: tuple[Override, ...]
    profiled_steps: int = 0
    verified: Verified = field(default_factory=dict, compare=False)

    def chosen(self) -> dict[str, Experiment]:
        """The variants to run, with the overrides applied."""
        ablation, seeds = self.loaded.ablation, self.all_seeds
        for seed in self.only:
            if seed not in seeds:
                raise UserError(
                    f"there is no seed {seed}: each variant has the seeds {seeds[0]} to "
                    f"{seeds[-1]}; --seeds gives it more"
                )
        # overrides that only a variant's parts have are left out here
        base, _ = apply_possible(ablation.base, self.overrides)
        chosen = {}
        for name, after in self._overridden().items():
            before = ablation.variants[name]
            chosen[name] = after
            undone = set(differences(ablation.base, before)) - set(differences(base, after))
            if undone:
                raise UserError(
                    f"an override conflicts with variant {name}, which is defined by "
                    f"{min(undone)}; leave {name} out by naming others with --variant"
                )
        return chosen

    def _overridden(self) -> dict[str, Experiment]:
        """The variants to run with the overrides, before it is checked that these leave them be."""
        ablation = self.loaded.ablation
        variants = {name: ablation.variant(name) for name in self.variants or ablation.variants}
        made, refused = dict[str, Experiment](), dict[str, UserError]()
        for name, before in variants.items():
            try:
                made[name] = override(before, self.overrides)
            except UserError as error:
                refused[name] = error
        if not refused:
            return made
        first = next(iter(refused.values()))
        alike = [name for name, error in refused.items() if str(error) == str(first)]
        if len(alike) == len(variants):
            raise first
        raise UserError(
            f"{first}, in {', '.join(alike)}; leave these out by naming others with --variant"
        )

    def chosen_parts(self) -> list[str]:
        """The parts that the command line chooses, with their fields: a sentence for each."""
        variants: dict[str, list[str]] = {}
        for name, experiment in self.chosen().items():
            for wanted in self.overrides:
                if wanted.choice:
                    part = to_json(field_at(experiment, wanted.path)[1], self.loaded.own)
                    variants.setdefault(f"{wanted.path} is {plain(part)}", []).append(name)
        all_of_them = [*(self.variants or self.loaded.ablation.variants)]
        return [
            choice if names == all_of_them else f"{choice}, in {', '.join(names)}"
            for choice, names in variants.items()
        ]

    @property
    def all_seeds(self) -> range:
        """The seeds of each variant's runs."""
        first = self.loaded.ablation.first_seed
        count = self.loaded.ablation.seeds if self.seeds is None else self.seeds
        return range(first, first + count)

    @property
    def above(self) -> Path:
        """The folder of all experiments' runs."""
        return self.folder.parent

    @property
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

    def runs(
        self, variant: str, experiment: Experiment, tied: Point | None = None
    ) -> dict[Path, Manifest]:
        """The folders of a tuned variant's runs, and the manifest of each; `tied`: those there."""
        above = self.folder / variant if tied is None else tied_folder(self.folder / variant, tied)
        return {
            above / f"seed-{seed}": manifest(
                self.loaded, variant, seed, experiment, tuned=tuple(self.grid)
            )
            for seed in self.only or self.all_seeds
        }

    def unfinished(self, runs: Mapping[Path, Manifest]) -> dict[Path, Manifest]:
        """The runs that are not finished."""
        return {
            folder: wanted
            for folder, wanted in runs.items()
            if finished(folder, wanted, self.verified) is None
        }
