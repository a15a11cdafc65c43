"""What an experiment came to: the results of its finished runs put together, in summary.json.

Everything is read from the folders of the runs, so the summary can be made again at any time. Its
form is `attnjax.reporting.summary`.
"""

import json
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.config.serialize import from_json, parse_json, record_differences, to_json
from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.evaluation.measurement import Better, Measurement, MetricKey
from attnjax.evaluation.measures.by_length import by_length
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.experiment.claims import Claim, Verdict, changes_meaning
from attnjax.experiment.estimands import Difference, RunMetrics, SentenceDifference, Slope
from attnjax.experiment.experiment import Published
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import shortest
from attnjax.reporting.summary import (
    Change,
    ClaimRow,
    Column,
    LeftOut,
    PublishedRow,
    Row,
    SlopeLine,
    Summary,
    TuningRow,
)
from attnjax.runs.run_folder import (
    RESULT,
    Manifest,
    experiment_file,
    read,
    result,
    warn_of_text,
)
from attnjax.runs.sealed import write_json
from attnjax.runs.tune import tuning_row

FILE = "summary.json"


def experiments(folder: Path) -> list[Path]:
    """The folders of experiments that have finished runs: this one, or those in it.

    Raises:
        UserError: there is none.
    """
    for pattern, above in ((f"*/seed-*/{RESULT}", 2), (f"*/*/seed-*/{RESULT}", 2)):
        found = sorted({path.parents[above] for path in folder.glob(pattern)})
        if found:
            return found
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}")
    if (folder / RESULT).exists():
        raise UserError(
            f"{folder} is a single run; give its experiment's folder, {folder.resolve().parents[1]}"
        )
    raise UserError(f"{folder} holds no finished runs of an experiment")


def reload(folder: Path, *, trust: bool = False) -> ExperimentFile:
    """The experiment file of the latest of an experiment's runs, as it is now.

    A run whose own copy of the file was changed after it was started is named in a warning.

    Args:
        folder: the experiment's.
        trust: run an experiment.py that is not the user's own.

    Raises:
        UserError: as `experiment_file`.
    """
    results = sorted(folder.glob(f"*/seed-*/{RESULT}"))
    latest = max(results, key=lambda path: path.stat().st_mtime).parent
    loaded = experiment_file(latest, trust=trust)
    for path in results:
        warn_of_text(path.parent, read(path.parent))
    return loaded


@dataclass(frozen=True, kw_only=True)
class _Variant:
    """The finished runs of a variant, by seed, and in what they differ from the file.

    Attributes:
        results: what result.json holds.
        measurements: the numbers.
        sentences: of those runs that decoded answers.
        changes: path: the file's value and the runs'.
        tuning: how the runs were tuned; None: they were not.
    """

    results: Mapping[int, Mapping[str, Any]]
    measurements: Mapping[int, Sequence[Measurement]]
    sentences: Mapping[int, Sentences]
    changes: Mapping[str, tuple[Any, Any]]
    tuning: TuningRow | None

    @property
    def metrics(self) -> dict[int, RunMetrics]:
        """What claims are judged by."""
        return {
            seed: RunMetrics({one.key: one.value for one in found}, self.sentences.get(seed))
            for seed, found in self.measurements.items()
        }


def summarize(
    folder: Path,
    loaded: ExperimentFile,
    command: Sequence[str] | None = None,
) -> Summary:
    """Put the finished runs of an experiment together, and write summary.json.

    Args:
        folder: the experiment's.
        loaded: its file.
        command: what runs all of it; of that the summary says what has been run. None: what the
            summary before says.

    Raises:
        UserError: a file is damaged, or a claim compares what was tested on different sentences.
    """
    ablation = loaded.ablation
    variants = {name: _variant(folder, loaded, name) for name in ablation.variants}
    variants = {name: found for name, found in variants.items() if found.results}
    rows = tuple(_row(name, found) for name, found in variants.items())
    latest = max(
        (content for found in variants.values() for content in found.results.values()),
        key=lambda content: content["date"],
    )
    before = _before(folder)
    claims, published, left_out = _statements(loaded, variants, rows)
    summary = Summary(
        experiment=loaded.folder,
        title=loaded.title or loaded.name,
        note=loaded.note,
        changes=_changes(variants),
        rows=rows,
        tunings=tuple(one.tuning for one in variants.values() if one.tuning is not None),
        claims=claims,
        published=published,
        left_out=left_out,
        device=latest["device"],
        versions=tuple(latest["versions"].items()),
        date=latest["date"],
        command=_command(command, loaded, rows) if command else _command_before(before, loaded),
    )
    write_json(folder / FILE, to_json(summary))
    return summary


def _before(folder: Path) -> Summary | None:
    """The summary that is there; None: there is none, or none of this version."""
    try:
        found = from_json(parse_json((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, Summary) else None


def _variant(folder: Path, loaded: ExperimentFile, name: str) -> _Variant:
    """What the folders of a variant's finished runs hold."""
    runs = {}
    for path in (folder / name).glob(f"seed-*/{RESULT}"):
        content = result(path.parent)
        if content is not None:
            runs[content["seed"]] = path.parent, content
    runs = dict(sorted(runs.items()))
    changes: dict[str, tuple[Any, Any]] = {}
    tuning = None
    for run, _ in runs.values():
        manifest = read(run)
        changes |= _differences(loaded, name, manifest)
        tuning = tuning or _tuning(folder / name, loaded, manifest)
    found = {seed: sentence_stats.read(run, loaded.own) for seed, (run, _) in runs.items()}
    return _Variant(
        results={seed: content for seed, (_, content) in runs.items()},
        measurements={
            seed: [Measurement.read(record) for record in content["metrics"]]
            for seed, (_, content) in runs.items()
        },
        sentences={seed: kept for seed, kept in found.items() if kept is not None},
        changes=changes,
        tuning=tuning,
    )


def _differences(
    loaded: ExperimentFile, name: str, manifest: Manifest
) -> dict[str, tuple[Any, Any]]:
    """Where a run differs from the file, which may want a field tuned: the file's value and its."""
    ablation = loaded.ablation
    of_file = to_json(ablation.variants[name], loaded.own)
    different = record_differences(of_file, manifest.settings)
    found = {path: (ours, theirs) for path, ours, theirs in different}
    for path, values in ablation.tune.items():
        found.pop(path, None)
        if path not in manifest.tuned:
            among = f"tuned over {', '.join(map(shortest, values))}"
            found[path] = among, _at(manifest.settings, path)
    return found


def _tuning(folder: Path, loaded: ExperimentFile, manifest: Manifest) -> TuningRow | None:
    """How a run's variant was tuned; None: it was not, or the file says no longer over what."""
    ablation = loaded.ablation
    grid = {path: ablation.tune[path] for path in manifest.tuned if path in ablation.tune}
    if not grid:
        return None
    chosen = {path: _at(manifest.settings, path) for path in grid}
    return tuning_row(folder, manifest.variant, grid, chosen, ablation.tune_seed)


def _at(record: Any, path: str) -> Any:
    """What a record has at a path; None: nothing."""
    for name in path.split("."):
        record = record.get(name) if isinstance(record, Mapping) else None
    return record


def _row(name: str, found: _Variant) -> Row:
    seeds = [*found.results]
    directions: dict[MetricKey, Better | None] = {
        one.key: one.better for measured in found.measurements.values() for one in measured
    }
    tested = {content.get("test_set") for content in found.results.values()}
    return Row(
        variant=name,
        seeds=tuple(seeds),
        columns=tuple(
            Column(
                key=key,
                better=better,
                values=tuple(column),
                mean=float(np.mean(there)),
                deviation=float(np.std(there, ddof=1)) if len(there) > 1 else None,
                length=_length(key, found.sentences),
            )
            for key, better in directions.items()
            # a run that an older version measured may lack a metric; its place is kept
            for column in [[found.metrics[seed].metrics.get(key) for seed in seeds]]
            for there in [[value for value in column if value is not None]]
        ),
        parameters=found.results[seeds[0]]["parameters"],
        seconds=sum(content["seconds"] for content in found.results.values()),
        test_set=tested.pop() if len(tested) == 1 else None,
        runs=tuple(f"{name}/seed-{seed}" for seed in seeds),
    )


def _length(key: MetricKey, sentences: Mapping[int, Sentences]) -> float | None:
    """The mean length of the sources of a part, by the first run that kept lengths."""
    for kept in sentences.values():
        if key.part is not None and kept.lengths is not None:
            number, parts = key.part
            return float(kept.lengths[by_length(kept.lengths, parts)[number - 1]].mean())
    return None


def _changes(variants: Mapping[str, _Variant]) -> tuple[Change, ...]:
    """The fields in which runs differ from the file, each with the variants whose runs do."""
    alike: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, found in variants.items():
        for path, (ours, theirs) in found.changes.items():
            alike[path, _shown(ours), _shown(theirs)].append(name)
    return tuple(
        Change(path=path, file=ours, run=theirs, variants=tuple(names))
        for (path, ours, theirs), names in alike.items()
    )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _statements(
    loaded: ExperimentFile, variants: Mapping[str, _Variant], rows: Sequence[Row]
) -> tuple[tuple[ClaimRow, ...], tuple[PublishedRow, ...], tuple[LeftOut, ...]]:
    """Claims and published figures; those that these runs say nothing about, with the reason."""
    results = {name: found.metrics for name, found in variants.items()}
    claims, published, left_out = [], [], []
    for claim in loaded.ablation.claims:
        reason = _another(claim.estimand.variants, variants)
        verdict = None if reason else claim.judge(results)
        if verdict is not None:
            claims.append(_claim(claim, verdict))
        else:
            left_out.append(LeftOut(text=claim.text, reason=reason or _missing(claim, variants)))
    for figure in loaded.ablation.published:
        reason = _another([figure.variant], variants)
        if reason:
            shown = f"{figure.paper}, {figure.table}: {figure.variant}, {figure.key} {figure.value}"
            left_out.append(LeftOut(text=shown, reason=reason))
        else:
            published.append(_published(figure, rows))
    return tuple(claims), tuple(published), tuple(left_out)


def _another(names: Sequence[str], variants: Mapping[str, _Variant]) -> str:
    """In what a variant means something else here than in the file; "": in nothing."""
    for name in names:
        for path in variants[name].changes if name in variants else ():
            if changes_meaning(path):
                return f"{path} of {name} was changed"
    return ""


def _missing(claim: Claim, variants: Mapping[str, _Variant]) -> str:
    """Why a claim has no verdict though nothing that it is about was changed."""
    absent = [name for name in claim.estimand.variants if name not in variants]
    if absent:
        names = [*dict.fromkeys(absent)]
        return f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} not run"
    return f"{claim.estimand.key} was not measured"


def _claim(claim: Claim, verdict: Verdict) -> ClaimRow:
    estimand = claim.estimand
    slope = isinstance(estimand, Slope)
    return ClaimRow(
        text=claim.text,
        source=claim.source,
        exploratory=claim.exploratory,
        metric=estimand.key,
        basis=estimand.basis,
        estimate=verdict.estimate,
        low=verdict.low,
        high=verdict.high,
        region=(claim.low, claim.high),
        verdict=verdict.verdict,
        reason=verdict.reason,
        seeds=tuple(verdict.seeds.items()),
        far_off=verdict.far_off,
        difference=isinstance(estimand, Difference | SentenceDifference),
        slope=SlopeLine(axis=estimand.axis, over=estimand.over) if slope else None,
    )


def _published(figure: Published, rows: Sequence[Row]) -> PublishedRow:
    row = next((row for row in rows if row.variant == figure.variant), None)
    column = row.column(figure.key) if row else None
    return PublishedRow(
        paper=figure.paper,
        table=figure.table,
        variant=figure.variant,
        metric=figure.key,
        value=figure.value,
        source=figure.source,
        ours=column.mean if column else None,
        deviation=column.deviation if column else None,
    )


def _command(command: Sequence[str], loaded: ExperimentFile, rows: Sequence[Row]) -> str:
    """What makes these rows: of all its variants those, and as many seeds."""
    words = [*command]
    if len(rows) < len(loaded.ablation.variants):
        words += [word for row in rows for word in ("--variant", row.variant)]
    seeds = max(len(row.seeds) for row in rows)
    if seeds != loaded.ablation.seeds:
        words += ["--seeds", str(seeds)]
    return shlex.join(words)


def _command_before(before: Summary | None, loaded: ExperimentFile) -> str:
    if before is not None:
        return before.command
    setting = "" if loaded.setting is None else f" --setting {loaded.setting}"
    return f"attnjax run {loaded.name}{setting}"
