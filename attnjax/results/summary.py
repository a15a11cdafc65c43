"""The summary of an experiment: the results of all its finished runs, in summary.json.

Everything is read from the folders of the runs, so the summary can be made again at any time. Its
type is `attnjax.reporting.summary.Summary`.
"""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from attnjax.config.serialize import from_json, parse_json, to_json
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Better, MetricKey
from attnjax.evaluation.measures.by_length import by_length
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.experiment.load import ExperimentFile
from attnjax.files import plain_file
from attnjax.reporting.summary import Change, Column, Row, Summary
from attnjax.results.description import differing, environment, meanings, shown
from attnjax.results.statements import statements
from attnjax.results.variant_runs import VariantRuns, variant_runs
from attnjax.runs.data_digests import check_alike
from attnjax.runs.json_files import write_json
from attnjax.runs.manifest import experiment_file, read, warn_of_text
from attnjax.runs.provenance import other_versions
from attnjax.runs.result import RESULT, RunResult, finished_runs

FILE = "summary.json"

PARTS = 4
"""The parts of a figure by source length, where no measure has others."""


def experiments(folder: Path) -> list[Path]:
    """The folders of experiments with finished runs: `folder` itself, or folders inside it.

    Raises:
        UserError: there is no finished run.
    """
    for pattern in (f"*/seed-*/{RESULT}", f"*/*/seed-*/{RESULT}"):
        if folders := sorted({path.parents[2] for path in folder.glob(pattern)}):
            return folders
    if not folder.is_dir():
        raise UserError(f"the folder {folder} does not exist")
    if (folder / RESULT).exists():
        raise UserError(
            f"{folder} is a single run; give its experiment's folder, {folder.resolve().parents[1]}"
        )
    raise UserError(f"{folder} holds no finished runs of an experiment")


def reload(folder: Path, *, trust: bool = False) -> ExperimentFile:
    """The experiment file of the latest run, as it is now; for `trust` see `experiment_file`.

    A warning names each run whose copy of the file was changed after the run was started.
    """
    runs = finished_runs(folder)
    latest = max(runs, key=lambda run: (run / RESULT).stat().st_mtime)
    loaded = experiment_file(latest, trust=trust)
    for run in runs:
        warn_of_text(run, read(run))
    return loaded


def summarize(
    folder: Path, loaded: ExperimentFile, command: Sequence[str] | None = None
) -> Summary:
    """Summarize the finished runs of an experiment, and write summary.json into its folder.

    `command` runs the whole experiment, word by word; the summary's command is limited to the runs
    that are finished. None: the command of the earlier summary stays.

    Raises:
        UserError: a file is damaged, runs of one task were trained on different data, or a claim
            compares runs tested on different sentences.
    """
    ablation = loaded.ablation
    check_alike(finished_runs(folder))
    variants = {name: variant_runs(folder, loaded, name) for name in ablation.variants}
    variants = {name: runs for name, runs in variants.items() if runs.results}
    rows = tuple(_row(name, runs) for name, runs in variants.items())
    finished = [run for runs in variants.values() for run in runs.results.values()]
    latest = max(finished, key=lambda run: run.date)
    has_paper = "paper" in ablation.settings
    claims, published, left_out = statements(folder, loaded, variants, rows)
    summary = Summary(
        experiment=loaded.folder,
        title=loaded.title or loaded.name,
        note=loaded.note,
        changes=_changes(variants),
        remarks=_remarks(variants),
        rows=rows,
        fields=differing(loaded, variants),
        meanings=meanings(loaded, variants),
        environment=environment(latest),
        paper=f"attnjax run {loaded.name} --setting paper" if has_paper else "",
        tunings=tuple(runs.tuning for runs in variants.values() if runs.tuning is not None),
        claims=claims,
        published=published,
        left_out=left_out,
        device=latest.device,
        versions=tuple(latest.versions.items()),
        date=latest.date,
        command=_command(command, folder, loaded, rows),
    )
    write_json(folder / FILE, to_json(summary))
    return summary


def before(folder: Path) -> Summary | None:
    """The summary in the folder; None: there is none, or another version of attnjax wrote it."""
    try:
        kept = from_json(parse_json(plain_file(folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, Summary) and isinstance(kept.command, str) else None


def _row(name: str, runs: VariantRuns) -> Row:
    first = next(iter(runs.results.values()))
    directions: dict[MetricKey, Better | None] = {
        item.key: item.better for measured in runs.measurements.values() for item in measured
    }
    return Row(
        variant=name,
        cost=first.cost,
        seeds=tuple(runs.results),
        columns=tuple(_column(runs, key, better) for key, better in directions.items()),
        parameters=first.parameters or 0,
        seconds=sum(run.seconds for run in runs.results.values()),
        test_set=_test_set({seed: run.test_set for seed, run in runs.results.items()}),
        by_length=_by_length(runs) if not any(key.part for key in directions) else (),
        runs=tuple(f"{name}/seed-{seed}" for seed in runs.results),
    )


def _test_set(digests: Mapping[int, str | None]) -> str | None:
    """A digest of the test splits of a variant's seeds; None: that of a run is not known."""
    different = set(digests.values())
    if None in different:
        return None
    if len(different) == 1:
        return different.pop()
    return sha256(repr(sorted(digests.items())).encode()).hexdigest()[:16]


def _column(runs: VariantRuns, key: MetricKey, better: Better | None) -> Column:
    # a run of an earlier version may lack a metric: its place holds None
    values = tuple(run.metrics.get(key) for run in runs.metrics.values())
    present = [value for value in values if value is not None]
    return Column(
        key=key,
        better=better,
        values=values,
        mean=float(np.mean(present)),
        deviation=float(np.std(present, ddof=1)) if len(present) > 1 else None,
        length=_length(key, runs.sentences),
    )


def _by_length(runs: VariantRuns) -> tuple[Column, ...]:
    """The score on four parts of the test split, the shortest sources first."""
    kept = [(each, each.lengths) for each in runs.sentences.values() if each.lengths is not None]
    if not kept or min(len(lengths) for _, lengths in kept) < PARTS:
        return ()
    metric = kept[0][0].metric
    scores = [
        [each.at(places).value() for places in by_length(lengths, PARTS)] for each, lengths in kept
    ]
    columns = []
    for number, values in enumerate(zip(*scores, strict=True), start=1):
        key = MetricKey(metric.name, part=(number, PARTS))
        mean, length = float(np.mean(values)), _length(key, runs.sentences)
        columns.append(
            Column(key=key, better=metric.better, values=values, mean=mean, length=length)
        )
    return tuple(columns)


def _length(key: MetricKey, sentences: Mapping[int, Sentences]) -> float | None:
    """The mean length of the sources of a part of the test split; None: not such a metric."""
    lengths = next((kept.lengths for kept in sentences.values() if kept.lengths is not None), None)
    if key.part is None or lengths is None:
        return None
    number, parts = key.part
    return float(lengths[by_length(lengths, parts)[number - 1]].mean())


def _changes(variants: Mapping[str, VariantRuns]) -> tuple[Change, ...]:
    """The fields in which runs differ from the file, each with the variants of those runs."""
    alike: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, runs in variants.items():
        for path, (ours, theirs) in runs.changes.items():
            alike[path, shown(ours), shown(theirs)].append(name)
    return tuple(
        Change(path=path, file=ours, run=theirs, variants=tuple(names))
        for (path, ours, theirs), names in alike.items()
    )


def _remarks(variants: Mapping[str, VariantRuns]) -> tuple[str, ...]:
    """What a reader must know of the runs: notes on their data, and other code than this one."""
    alike: dict[str, list[str]] = defaultdict(list)
    for name, runs in variants.items():
        notes = [note for run in runs.results.values() for note in _notes(run)]
        for note in dict.fromkeys(notes):
            alike[note].append(name)
    data = [
        f"data: {note}" if len(names) == len(variants) else f"data of {', '.join(names)}: {note}"
        for note, names in alike.items()
    ]
    other = other_versions(run.code for runs in variants.values() for run in runs.results.values())
    return (*data, other) if other else tuple(data)


def _notes(run: RunResult) -> Iterator[str]:
    """The splits that come from a corpus under another name, and the notes on the data."""
    renamed = {split: of for split, of in run.splits.items() if not of.startswith(f"{split}:")}
    if renamed:
        yield "; ".join(f"{split} is {of}" for split, of in renamed.items())
    yield from run.notes


def _command(
    command: Sequence[str] | None, folder: Path, loaded: ExperimentFile, rows: Sequence[Row]
) -> str:
    """The command that makes these rows: only their variants, and as many seeds."""
    if not command:
        setting = "" if loaded.setting is None else f" --setting {loaded.setting}"
        earlier = before(folder)
        return earlier.command if earlier else f"attnjax run {loaded.name}{setting}"
    words = [*command]
    if len(rows) < len(loaded.ablation.variants):
        words += [word for row in rows for word in ("--variant", row.variant)]
    seeds = max(len(row.seeds) for row in rows)
    if seeds != loaded.ablation.seeds:
        words += ["--seeds", str(seeds)]
    return shlex.join(words)
