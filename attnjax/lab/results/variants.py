"""The runs of each variant that count, and how they differ from the experiment file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from attnjax.config.packages import packages_of
from attnjax.config.serialize import own_names, to_json
from attnjax.experiment.estimands import RunMetrics
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import shortest
from attnjax.lab.results.record import Record
from attnjax.lab.results.summary import TuningRow
from attnjax.lab.results.tuning import row_of_records
from attnjax.lab.runs.manifest import Manifest
from attnjax.lab.runs.provenance import changed_imports
from attnjax.nn.paths import flat


class Measured(NamedTuple):
    """A record, and its numbers in the form that claims are judged by."""

    record: Record
    numbers: RunMetrics


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The runs of one variant that count.

    Attributes:
        chosen: the runs at the variant's own values, by seed.
        tied: those at values that tuning ties with the chosen ones, by these values.
        tuning: how the values were chosen; None: the records do not say.
        changes: each path where a run differs from the file: the file's value and the run's.
    """

    chosen: Sequence[Measured]
    tied: Mapping[tuple[float, ...], Sequence[Measured]]
    tuning: TuningRow | None
    changes: Mapping[str, tuple[Any, Any]]

    @property
    def records(self) -> list[Record]:
        """The records at the variant's own values."""
        return [run.record for run in self.chosen]


def variants_of(
    loaded: ExperimentFile, kept: Sequence[Record], records: Sequence[Record]
) -> dict[str, Variant]:
    """Return the variants that have runs, in the order of the file."""
    variants = {}
    for name in loaded.ablation.variants:
        runs = [
            Measured(record, record.measured(loaded.own))
            for record in sorted(kept, key=lambda record: record.seed)
            if record.variant == name
        ]
        chosen = [run for run in runs if not run.record.tied]
        if not chosen:
            continue
        manifests = [run.record.run.manifest for run in chosen if run.record.run is not None]
        tuned_by = [
            record for record in records if (record.variant, record.stage) == (name, "tuning")
        ]
        # without the runs that tune, records chose the values of the runs beside them
        here = manifests if tuned_by or len(manifests) == len(chosen) else []
        tuning = _tuning(loaded, here, tuned_by)
        points = [run.record.tied_values for run in runs if run.record.tied]
        variants[name] = Variant(
            chosen=chosen,
            tied={
                values: [run for run in runs if run.record.tied_values == values]
                for values in (points if tuning is None else tuning.tied)
            },
            tuning=tuning,
            changes={
                path: values
                for manifest in manifests
                for path, values in _differences(loaded, name, manifest).items()
            },
        )
    return variants


def _differences(
    loaded: ExperimentFile, name: str, manifest: Manifest
) -> dict[str, tuple[Any, Any]]:
    """Return the paths where a run differs from the file, with both values; a grid is a value."""
    ablation = loaded.ablation
    of_file = to_json(ablation.variants[name], loaded.own)
    changes = {path: (file, run) for path, run, file in manifest.differences(of_file)}
    if own_names(manifest.settings):
        for file in changed_imports(manifest.imported, loaded.imported):
            digests = loaded.imported.get(file), manifest.imported[file]
            ours, theirs = (f"sources {digest[:10]}" if digest else "none" for digest in digests)
            changes[f"imported.{file}"] = ours, theirs
        packages = packages_of(loaded.text, own_names(manifest.settings), loaded.modules)
        for package, version in manifest.packages.items():
            if packages.get(package, version) != version:
                changes[f"package.{package}"] = packages[package], version
    for path, values in ablation.tune.items():
        changes.pop(path, None)
        if path not in manifest.tuned:
            among = f"tuned over {', '.join(map(shortest, values))}"
            changes[path] = among, flat(manifest.settings).get(path)
    return changes


def _tuning(
    loaded: ExperimentFile, manifests: Sequence[Manifest], runs: Sequence[Record]
) -> TuningRow | None:
    """Return how a variant was tuned; None: it was not, or the file no longer has the grid."""
    if not manifests:
        return None
    manifest, ablation = manifests[0], loaded.ablation
    settings = flat(manifest.settings)
    grid = {path: ablation.tune[path] for path in manifest.tuned if path in ablation.tune}
    if not grid:
        return None
    chosen: Any = tuple(settings.get(path) for path in grid)
    return row_of_records(manifest.variant, ablation.tuning_seeds, grid, chosen, runs)
