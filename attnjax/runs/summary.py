"""What came of an experiment: its runs' results put together, in summary.json.

Everything is read from the runs' folders, so it can be made again at any time. The form is
described in `attnjax.reporting.page`.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.config.serialize import parse_json
from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.experiment.claims import Claim, Verdict
from attnjax.experiment.estimands import Results, RunMetrics
from attnjax.experiment.load import ExperimentFile
from attnjax.runs.run_folder import RESULT, experiment_file, result
from attnjax.runs.sealed import write_json

FILE = "summary.json"
BETTER = {
    "exact_match": "higher",
    "bleu": "higher",
    "alignment_error": "lower",
    "squared_error": "lower",
}
"""The metrics that say how good a variant is; the others describe it."""


def experiments(folder: Path) -> list[Path]:
    """The experiments' folders that have finished runs: this one, or those in it.

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

    Raises:
        UserError: as `experiment_file`.
    """
    run = max(folder.glob(f"*/seed-*/{RESULT}"), key=lambda path: path.stat().st_mtime).parent
    return experiment_file(run, trust=trust)


def summarise(
    folder: Path, loaded: ExperimentFile, command: Sequence[str] | None = None
) -> dict[str, Any]:
    """Put the finished runs of an experiment together, and write summary.json.

    Args:
        folder: the experiment's.
        loaded: its file.
        command: what runs all of it; of that the summary says what has been run. None: what the
            summary before says.

    Raises:
        UserError: a file is damaged, or a claim compares what was tested on different sentences.
    """
    found = {name: _results(folder / name) for name in loaded.ablation.variants}
    found = {name: results for name, results in found.items() if results}
    measured = {
        name: {
            seed: _measured(folder / name / f"seed-{seed}", result)
            for seed, result in results.items()
        }
        for name, results in found.items()
    }
    names = [
        metric for runs in measured.values() for run in runs.values() for metric in run.metrics
    ]
    latest = max(
        (result for results in found.values() for result in results.values()),
        key=lambda result: result["date"],
    )
    rows = [_row(name, results, measured[name]) for name, results in found.items()]
    judged = [(claim, claim.judge(measured)) for claim in loaded.ablation.claims]
    summary = {
        "experiment": loaded.folder,
        "title": loaded.title or loaded.name,
        "note": loaded.note,
        "metrics": list(dict.fromkeys(names)),
        "better": {metric: BETTER[metric] for metric in dict.fromkeys(names) if metric in BETTER},
        "rows": rows,
        "claims": [_claim(claim, verdict) for claim, verdict in judged if verdict],
        # a claim about what was not run or not measured is neither decided nor undecided
        "unjudged": [
            {"text": claim.text, "missing": _missing(claim, measured)}
            for claim, verdict in judged
            if not verdict
        ],
        "published": [asdict(figure) for figure in loaded.ablation.published],
        "device": latest["device"],
        "versions": latest["versions"],
        "date": latest["date"],
        "command": _before(folder, loaded) if command is None else _command(command, loaded, rows),
    }
    write_json(folder / FILE, summary)
    return summary


def _results(folder: Path) -> dict[int, dict[str, Any]]:
    """The results of a variant's finished runs, by seed."""
    found = {}
    for path in folder.glob(f"seed-*/{RESULT}"):
        content = result(path.parent)
        if content is not None:
            found[content["seed"]] = content
    return dict(sorted(found.items()))


def _measured(folder: Path, content: Mapping[str, Any]) -> RunMetrics:
    """What was measured of a run; null is what was not finite."""
    metrics = {
        name: math.nan if value is None else value for name, value in content["metrics"].items()
    }
    return RunMetrics(metrics, sentence_stats.read(folder))


def _row(
    variant: str, results: Mapping[int, dict[str, Any]], measured: Mapping[int, RunMetrics]
) -> dict[str, Any]:
    names = list(dict.fromkeys(name for run in measured.values() for name in run.metrics))
    # a run that an older version measured may lack one; its place is kept, a value a seed
    values = {name: [run.metrics.get(name) for run in measured.values()] for name in names}
    there = {name: [x for x in column if x is not None] for name, column in values.items()}
    return {
        "variant": variant,
        "n": len(results),
        "mean": {name: finite(float(np.mean(column))) for name, column in there.items()},
        "standard_deviation": {
            name: finite(float(np.std(column, ddof=1))) if len(column) > 1 else None
            for name, column in there.items()
        },
        "seconds": sum(content["seconds"] for content in results.values()),
        "parameters": next(iter(results.values()))["parameters"],
        "values": {name: list(map(finite, column)) for name, column in values.items()},
        "runs": [f"{variant}/seed-{seed}" for seed in results],
    }


def _missing(claim: Claim, measured: Results) -> list[str]:
    """For want of what it has no verdict: variants, or the metric where they are all there."""
    quantity = claim.quantity
    return sorted(set(quantity.variants) - measured.keys()) or [quantity.metric]


def _claim(claim: Claim, verdict: Verdict) -> dict[str, Any]:
    return {
        "text": claim.text,
        "quantity": claim.quantity.record(),
        "estimate": verdict.estimate,
        "low": finite(verdict.low),
        "high": finite(verdict.high),
        "region": [finite(claim.low), finite(claim.high)],
        "verdict": verdict.verdict,
    }


def _command(
    command: Sequence[str], loaded: ExperimentFile, rows: Sequence[Mapping[str, Any]]
) -> str:
    """What makes these rows: of all its variants those, and as many seeds."""
    variants, words = [row["variant"] for row in rows], [*command]
    if len(variants) < len(loaded.ablation.variants):
        words += [word for name in variants for word in ("--variant", name)]
    seeds = max(row["n"] for row in rows)
    if seeds != loaded.ablation.seeds:
        words += ["--seeds", str(seeds)]
    return shlex.join(words)


def _before(folder: Path, loaded: ExperimentFile) -> str:
    try:
        return parse_json((folder / FILE).read_text(encoding="utf-8"))["command"]
    except (OSError, ValueError, KeyError):
        setting = "" if loaded.setting is None else f" --setting {loaded.setting}"
        return f"attnjax run {loaded.name}{setting}"


def finite(value: float | None) -> float | None:
    """A number as JSON has them."""
    return value if value is not None and math.isfinite(value) else None
