"""The page over all experiments of a folder: questions, verdicts, and the runs under way."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attnjax.files import write_atomically
from attnjax.reporting.evidence import MARKS
from attnjax.reporting.page import FILE as REPORT, render
from attnjax.results.summary import before
from attnjax.runs import failures
from attnjax.runs.manifest import CONFIG, read
from attnjax.runs.result import RESULT
from attnjax.runs.run_folder import STEPS
from attnjax.training.log import metrics_log

FILE = "index.html"


def write_index(folder: Path) -> Path:
    """Write the page over the experiments in a folder, or over the folder's own runs."""
    experiments = defaultdict[Path, list[Path]](list)
    for run in sorted(path.parent for path in folder.glob(f"**/seed-*/{CONFIG}")):
        if "tune" not in run.relative_to(folder).parts:
            experiments[run.parents[1]].append(run)
    entries = [_entry(folder, *experiment) for experiment in experiments.items()]
    page = render("index.html.jinja", entries=entries)
    write_atomically(folder / FILE, page)
    return folder / FILE


def _entry(folder: Path, experiment: Path, runs: list[Path]) -> dict[str, Any]:
    """What the page says of an experiment; the title and the report may be ""."""
    summary = before(experiment)
    verdicts = Counter(claim.verdict for claim in summary.claims) if summary else Counter()
    report = experiment / REPORT
    return {
        "name": experiment.resolve().name,
        "title": summary.title if summary else "",
        "verdicts": [
            f"{mark} {verdict}: {verdicts[verdict]}"
            for verdict, mark in MARKS.items()
            if verdicts[verdict]
        ],
        "finished": sum((run / RESULT).exists() for run in runs),
        "running": [words for run in runs if (words := _under_way(run))],
        "report": quote(report.relative_to(folder).as_posix()) if report.exists() else "",
    }


def _under_way(run: Path) -> str | None:
    """How far a run is, in words; None: it has finished or failed."""
    if (run / RESULT).exists() or failures.reason(run) is not None:
        return None
    step = max((row["step"] for row in metrics_log.read(run)), default=0)
    planned = read(run).training(STEPS.rpartition(".")[2])
    return f"{run.parent.name}/{run.name}: step {step:,} of {planned:,}"
