"""The plan of a request: its variants with the overrides applied, and what their runs are of.

    <runs>/<experiment>/<variant>/tune/<point>/seed-<n>/    a seed at a point of the grid
    <runs>/<experiment>/<variant>/seed-<n>/                 a seed at the chosen point
    <runs>/<experiment>/<variant>/tied/<point>/seed-<n>/    a seed at a point tied with that

Without a grid there is one point, the variant as it is. All three are a `RunSpec`. A plan reads no
file of a run: `attnjax.lab.sweeps.found` has what is there of it. The settings of a variant at a
point are made once, when they are first asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from attnjax.config.override import Override, apply_possible, override
from attnjax.config.serialize import plain, to_json
from attnjax.config.vary import field_at, vary
from attnjax.config.walk import differences
from attnjax.errors import UserError
from attnjax.experiment import Ablation, Experiment
from attnjax.experiment.tuning import Point
from attnjax.lab.results.read import settings_digest
from attnjax.lab.results.tuning import point_folders, tied_folder
from attnjax.lab.runs.manifest import Manifest, manifest
from attnjax.lab.sweeps.request import Request
from attnjax.nn.paths import flat


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """A run of a plan: its folder and seed, and the variant that it is a run of, at a point.

    Attributes:
        together: the names of the folders of the runs that it trains together with.
    """

    folder: Path
    seed: int
    at: "VariantAtPoint" = field(compare=False, repr=False)
    together: tuple[str, ...] = ()

    @property
    def experiment(self) -> Experiment:
        """The variant, with the values of the point."""
        return self.at.experiment

    @cached_property
    def manifest(self) -> Manifest:
        """The content of its config.json before it is started."""
        return replace(self.at.manifest, seed=self.seed, together=self.together)


@dataclass(frozen=True, kw_only=True)
class VariantAtPoint:
    """A variant with the values of a point; `tuned` are the fields that tuning has chosen."""

    variant: "VariantPlan"
    point: Point
    tuned: tuple[str, ...]

    @cached_property
    def experiment(self) -> Experiment:
        """The experiment of its runs."""
        return vary(self.variant.experiment, self.point) if self.point else self.variant.experiment

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest of its runs, as that of seed 0."""
        loaded = self.variant.request.loaded
        settings = to_json(self.experiment, loaded.own) if self.point else self.variant.settings
        return manifest(loaded, self.variant.name, 0, settings, self.tuned)

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values of the tuned fields; those of the variant, as long as none are chosen."""
        if self.point or not self.tuned:
            return {path: self.point.get(path) for path in self.tuned}
        of_variant = flat(self.variant.settings)
        return {path: of_variant.get(path) for path in self.tuned}

    def runs(self, folders: Mapping[int, Path]) -> list[RunSpec]:
        """Return the runs of seeds in their folders."""
        return [RunSpec(folder=folder, seed=seed, at=self) for seed, folder in folders.items()]


@dataclass(frozen=True, kw_only=True)
class VariantPlan:
    """A variant of an experiment file.

    Attributes:
        experiment: the variant, with the overrides of the command line.
        folder: the folder of all its runs.
    """

    request: Request
    name: str
    experiment: Experiment

    @cached_property
    def folder(self) -> Path:
        return self.request.folder / self.name

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The record of the experiment, every field of it."""
        loaded = self.request.loaded
        if self.experiment is loaded.ablation.variants.get(self.name):
            return loaded.settings[self.name]
        return to_json(self.experiment, loaded.own)

    @cached_property
    def digest(self) -> str:
        """The digest of the settings that are not tuned."""
        return settings_digest(self.settings, tuple(self.request.grid))

    def tuning(self, point: Point) -> list[RunSpec]:
        """Return the runs that tune the variant at a point of the grid."""
        seeds = self.request.loaded.ablation.tuning_seeds
        return self._at(point).runs(point_folders(self.folder, point, seeds))

    def seeds(self, point: Point) -> list[RunSpec]:
        """Return the seeds' runs at the chosen point."""
        return self._of_seeds(point, self.folder)

    def tied(self, point: Point) -> list[RunSpec]:
        """Return the seeds' runs at a point that is tied with the chosen one."""
        return self._of_seeds(point, tied_folder(self.folder, point))

    def _of_seeds(self, point: Point, above: Path) -> list[RunSpec]:
        numbers = self.request.only or self.request.all_seeds
        folders = {seed: above / f"seed-{seed}" for seed in numbers}
        return self._at(point, tuple(self.request.grid)).runs(folders)

    def _at(self, point: Point, tuned: tuple[str, ...] = ()) -> VariantAtPoint:
        key = *point.items(), *tuned
        if key not in self._made:
            self._made[key] = VariantAtPoint(variant=self, point=point, tuned=tuned)
        return self._made[key]

    @cached_property
    def _made(self) -> dict[object, VariantAtPoint]:
        return {}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The variants of a request, with its overrides applied."""

    request: Request
    variants: Mapping[str, VariantPlan]

    @cached_property
    def of_folders(self) -> list[VariantPlan]:
        """All variants of the file that have a folder: the runs in it share one table.

        A variant that is not to be run has those overrides that its parts have.
        """
        variants = self.request.loaded.ablation.variants
        there = [name for name in variants if (self.request.folder / name).is_dir()]
        return [self.variants.get(name) or self._other(name, variants[name]) for name in there]

    def _other(self, name: str, experiment: Experiment) -> VariantPlan:
        possible, _ = apply_possible(experiment, self.request.overrides)
        return VariantPlan(request=self.request, name=name, experiment=possible)

    def parts(self) -> list[str]:
        """Return a sentence for each part that the command line chooses, with its fields."""
        variants: dict[str, list[str]] = {}
        for name, variant in self.variants.items():
            for wanted in self.request.overrides:
                if wanted.choice:
                    part = field_at(variant.experiment, wanted.path)[1]
                    value = plain(to_json(part, self.request.loaded.own))
                    variants.setdefault(f"{wanted.path} is {value}", []).append(name)
        every = [*(self.request.variants or self.request.loaded.ablation.variants)]
        return [
            choice if names == every else f"{choice}, in {', '.join(names)}"
            for choice, names in variants.items()
        ]


def resolve(request: Request) -> Plan:
    """Return the plan of a request.

    Raises:
        UserError: there is no such variant or seed, or an override does not fit.
    """
    ablation, seeds = request.loaded.ablation, request.all_seeds
    if unknown := [seed for seed in request.only if seed not in seeds]:
        raise UserError(
            f"there is no seed {unknown[0]}: each variant has the seeds {seeds[0]} to "
            f"{seeds[-1]}; --seeds gives it more"
        )
    names = request.variants or ablation.variants
    chosen = _overridden({name: ablation.variant(name) for name in names}, request.overrides)
    _check_defined(ablation, chosen, request.overrides)
    variants = {
        name: VariantPlan(request=request, name=name, experiment=experiment)
        for name, experiment in chosen.items()
    }
    return Plan(request=request, variants=variants)


def _overridden(
    variants: Mapping[str, Experiment], overrides: Sequence[Override]
) -> dict[str, Experiment]:
    """Apply overrides to variants; whether they undo what defines one is checked by the plan."""
    made, refused = dict[str, Experiment](), dict[str, UserError]()
    for name, before in variants.items():
        try:
            made[name] = override(before, overrides) if overrides else before
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


def _check_defined(
    ablation: Ablation, chosen: Mapping[str, Experiment], overrides: Sequence[Override]
) -> None:
    """Refuse overrides that undo what defines a variant."""
    if not overrides:
        return
    # overrides that only a variant's parts have are left out here
    base, _ = apply_possible(ablation.base, overrides)
    for name, after in chosen.items():
        before = ablation.variants[name]
        undone = set(differences(ablation.base, before)) - set(differences(base, after))
        if undone:
            raise UserError(
                f"an override conflicts with variant {name}, which is defined by "
                f"{min(undone)}; leave {name} out by naming others with --variant"
            )


def seeds_of(runs: Iterable[RunSpec]) -> list[int]:
    """Return the seeds of runs."""
    return [run.seed for run in runs]
