"""An experiment's folder: its finished runs, and their summary in summary.json.

Everything is read from the folders of the runs, so the summary can be made again at any time.
"""

import shlex
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnjax.config.serialize import parse_json, to_json
from attnjax.errors import UserError, warn
from attnjax.evaluation.measurement import Measurement
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import in_words
from attnjax.files import plain_file
from attnjax.lab.results.judging import judge
from attnjax.lab.results.read import read_runs
from attnjax.lab.results.record import Record
from attnjax.lab.results.stand_in import listed, recorded_by, standing_in
from attnjax.lab.results.summary import Column, Row, Summary
from attnjax.lab.runs import failures
from attnjax.lab.runs.data_digests import check_alike
from attnjax.lab.runs.json_files import write_json
from attnjax.lab.runs.manifest import experiment_file, read, warn_of_text
from attnjax.lab.runs.result import RESULT, finished_runs

FILE = "summary.json"


def experiments(folder: Path) -> list[Path]:
    """Return the folders of experiments with finished runs: `folder` itself, or folders inside it.

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
    """Load the experiment file of the latest run, as it is now; for `trust` see `experiment_file`.

    A warning names each run whose copy of the file was changed after the run was started.
    """
    runs = finished_runs(folder)
    latest = max(runs, key=lambda run: (run / RESULT).stat().st_mtime)
    loaded = experiment_file(latest, trust=trust)
    for run in runs:
        warn_of_text(run, read(run))
    return loaded


def summarize(
    folder: Path,
    loaded: ExperimentFile,
    command: Sequence[str] | None = None,
    *,
    records: Sequence[Record] = (),
) -> Summary:
    """Judge the finished runs of an experiment, and write summary.json into its folder.

    `command` runs the whole experiment, word by word; the summary's command is limited to the runs
    that are finished. None: the command of the earlier summary stays. Those of the `records` of
    files that fit stand in for runs that are not there.

    Raises:
        UserError: a file is damaged, runs of one task were trained on different data, or a claim
            compares runs tested on different sentences.
    """
    runs = read_runs(folder)
    check_alike(record.run.folder for record in runs if record.run and record.stage != "tuning")
    stand_ins = standing_in(loaded, records, runs).records if records else ()
    failed = {name: failures.reason(folder / name) for name in loaded.ablation.variants}
    reasons = {name: reason for name, reason in failed.items() if reason}
    summary = judge(loaded, [*runs, *stand_ins], reasons)
    summary = replace(summary, remarks=(*of_records(summary.rows), *summary.remarks))
    if command:
        summary = replace(summary, command=_limited(command, loaded, summary.rows))
    elif earlier := _earlier_command(folder):
        summary = replace(summary, command=earlier)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, _content(summary, folder))
    except OSError as error:  # a full disk, or runs of somebody else: the numbers are there
        warn(f"{error.filename} cannot be written: {error.strerror}")
    return summary


def of_records(rows: Sequence[Row]) -> Iterator[str]:
    """Yield which rows are recorded, by which code and on which machines."""
    recorded = {row.variant: [made for made in row.records if made.run is None] for row in rows}
    alike = defaultdict[str, list[str]](list)
    for row in rows:
        if records := recorded[row.variant]:
            alike[recorded_by(records)].append(_recorded_row(row, records))
    for made, names in alike.items():
        yield f"recorded, not trained here: {listed(names, '; ')}, by {made}"
    kinds = {record.kind for records in recorded.values() for record in records}
    here = {record.kind for row in rows for record in row.records if record.run is not None}
    if here and kinds - here:
        yield (
            f"runs here are on {', '.join(sorted(here))}: machines of other kinds round otherwise, "
            "and verdicts between recorded and trained rows are over several kinds"
        )


def _recorded_row(row: Row, records: Sequence[Record]) -> str:
    """Name a row by its variant, the seeds that are recorded if not all are, and its tuning."""
    seeds = ", ".join(str(record.seed) for record in records)
    some = "" if len(records) == len(row.records) else f" (seeds {seeds})"
    tuned = in_words([*records[0].tuned.values()])
    return f"{row.variant}{some}{f', tuned to {tuned}' if tuned else ''}"


def _limited(command: Sequence[str], loaded: ExperimentFile, rows: Sequence[Row]) -> str:
    """Return the command that makes these rows: only their variants, and as many seeds."""
    words = [*command]
    if len(rows) < len(loaded.ablation.variants):
        words += [word for row in rows for word in ("--variant", row.variant)]
    seeds = max((len(row.seeds) for row in rows), default=loaded.ablation.seeds)
    if seeds != loaded.ablation.seeds:
        words += ["--seeds", str(seeds)]
    return shlex.join(words)


def _earlier_command(folder: Path) -> str:
    """Return the command of the summary in the folder; "": there is none."""
    try:
        content = parse_json(plain_file(folder / FILE).read_text(encoding="utf-8"))
        return str(content["command"])
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def _content(summary: Summary, folder: Path) -> dict[str, Any]:
    """Return the content of summary.json: the numbers of the rows, verdicts, what is left out."""
    parts = ("changes", "fields", "tunings", "claims", "published", "left_out")
    return {
        "experiment": summary.experiment,
        "title": summary.title,
        "note": summary.note,
        "rows": [_row(row, folder) for row in summary.rows],
        **{name: to_json(getattr(summary, name)) for name in parts},
        "remarks": summary.remarks,
        "meanings": dict(summary.meanings),
        "environment": dict(summary.environment),
        "paper": summary.paper,
        "command": summary.command,
    }


def _row(row: Row, folder: Path) -> dict[str, Any]:
    return {
        "variant": row.variant,
        "seeds": row.seeds,
        "runs": [str(run.relative_to(folder)) for run in row.runs],
        "recorded": [record.where for record in row.records if record.run is None],
        "parameters": row.parameters,
        "seconds": row.seconds,
        "test_set": row.test_set,
        "cost": to_json(row.cost),
        "columns": [_column(column) for column in row.columns],
        "by_length": [_column(column) for column in row.by_length],
    }


def _column(column: Column) -> dict[str, Any]:
    return {**to_json(column), "mean": column.mean, "deviation": column.deviation}


def rows(runs: str | Path) -> list[dict[str, Any]]:
    """Return a dict for each finished run in an experiment's folder, or in that of `--runs`.

    `pandas.DataFrame`, and that of polars, takes the list as it is; so does a CSV writer. A number
    that a run lacks is absent from its dict.

    Raises:
        UserError: there is no finished run, or a result is damaged.
    """
    return [
        {
            "experiment": folder.name,
            "variant": record.variant,
            "seed": record.seed,
            **{str(item.key): item.value for item in map(Measurement.of, record.metrics)},
            "validation loss": record.run.result.best_validation_loss,
            "steps": record.updates,
            "parameters": record.parameters,
            "seconds": record.seconds,
            "run": str(record.run.folder),
        }
        for folder in experiments(Path(runs))
        for record in read_runs(folder)
        if record.run is not None and record.stage == "chosen"
    ]
