"""The finished runs of one variant: their results, and how they differ from the experiment file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnjax.config.serialize import own_names, to_json
from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.experiment.estimands import RunMetrics
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import shortest
from attnjax.nn.paths import flat
from attnjax.reporting import evidence
from attnjax.reporting.summary import TuningRow
from attnjax.results.tuning import tied_folder, tuning_row
from attnjax.runs.manifest import Manifest, read
from attnjax.runs.provenance import changed_imports
from attnjax.runs.result import RESULT, RunResult
from attnjax.runs.run_folder import result


@dataclass(frozen=True, kw_only=True)
class VariantRuns:
    """The finished runs of a variant, by seed.

    Attributes:
        changes: each path where a run differs from the file: the file's value and the run's.
        tied: the numbers of each run at values that are tied with the chosen ones, by those values.
    """

    results: Mapping[int, RunResult]
    manifests: Mapping[int, Manifest]
    sentences: Mapping[int, Sentences]
    changes: Mapping[str, tuple[Any, Any]]
    tuning: TuningRow | None
    tied: Mapping[str, Mapping[int, RunMetrics]]

    @property
    def metrics(self) -> dict[int, RunMetrics]:
        """The numbers of each run, in the form that claims are judged by."""
        return {
            seed: RunMetrics(
                {item.key: item.value for item in items},
                self.sentences.get(seed),
                self.results[seed].test_set,
            )
            for seed, items in self.measurements.items()
        }

    @property
    def minutes(self) -> float:
        """The mean minutes of training and decoding of a run."""
        seconds = [run.seconds + (run.decoding_seconds or 0.0) for run in self.results.values()]
        return sum(seconds) / len(seconds) / 60

    @property
    def measurements(self) -> dict[int, list[Measurement]]:
        """The numbers of each run."""
        return {seed: [*map(Measurement.of, run.metrics)] for seed, run in self.results.items()}


def variant_runs(
    folder: Path, loaded: ExperimentFile, name: str, tied: Path | None = None
) -> VariantRuns:
    """Read the finished runs of a variant, in an experiment's folder.

    `tied` is the folder of its runs at tied values; None: its runs have the chosen values.
    """
    above = tied or folder / name
    results: dict[int, RunResult] = {}
    for path in above.glob(f"seed-*/{RESULT}"):
        if (content := result(path.parent, {})) is None:
            continue
        if (content.variant, f"seed-{content.seed}") != (name, path.parent.name):
            raise UserError(
                f"{path} is the result of {content.variant}/seed-{content.seed}: a run's folder "
                "has the name of its seed, in that of its variant"
            )
        results[content.seed] = content
    manifests, sentences, tuning = {}, {}, None
    changes: dict[str, tuple[Any, Any]] = {}
    for seed in sorted(results):
        run = above / f"seed-{seed}"
        manifests[seed] = manifest = read(run)
        changes |= _differences(loaded, name, manifest)
        if tied is None and tuning is None:
            tuning = _tuning(above, loaded, manifest)
        if (kept := sentence_stats.read(run, loaded.own)) is not None:
            sentences[seed] = kept
    at_ties: dict[str, Mapping[int, RunMetrics]] = {}
    if tuning is not None:
        for point in tuning.points:
            if point.tied and point.values != tuning.chosen:
                place = tied_folder(above, dict(zip(tuning.fields, point.values, strict=True)))
                runs = variant_runs(folder, loaded, name, place)
                at_ties[evidence.values(point.values)] = runs.metrics
    return VariantRuns(
        results=dict(sorted(results.items())),
        manifests=manifests,
        sentences=sentences,
        changes=changes,
        tuning=tuning,
        tied=at_ties,
    )


def _differences(
    loaded: ExperimentFile, name: str, manifest: Manifest
) -> dict[str, tuple[Any, Any]]:
    """The paths where a run differs from the file, with both values; a grid counts as a value."""
    ablation = loaded.ablation
    of_file = to_json(ablation.variants[name], loaded.own)
    changes = {path: (file, run) for path, run, file in manifest.differences(of_file)}
    if own_names(manifest.settings):
        for file in changed_imports(manifest.imported, loaded.imported):
            digests = loaded.imported[file], (manifest.imported or {})[file]
            ours, theirs = (f"sources {digest[:10]}" for digest in digests)
            changes[f"imported.{file}"] = ours, theirs
    for path, values in ablation.tune.items():
        changes.pop(path, None)
        if path not in manifest.tuned:
            among = f"tuned over {', '.join(map(shortest, values))}"
            changes[path] = among, flat(manifest.settings).get(path)
    return changes


def _tuning(folder: Path, loaded: ExperimentFile, manifest: Manifest) -> TuningRow | None:
    """How the variant was tuned; None: it was not, or the file no longer has the grid."""
    ablation, settings = loaded.ablation, flat(manifest.settings)
    grid = {path: ablation.tune[path] for path in manifest.tuned if path in ablation.tune}
    if not grid:
        return None
    chosen: Any = {path: settings.get(path) for path in grid}
    return tuning_row(folder, manifest.variant, ablation.tuning_seeds, grid, chosen)
