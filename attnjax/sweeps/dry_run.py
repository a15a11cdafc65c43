"""The runs that `attnjax run` would make, with their costs and an estimate of the time.

Nothing is written, and no folder is made.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attnjax.data.corpus import Corpus, Task
from attnjax.errors import NoCorpus
from attnjax.runs import failures
from attnjax.runs.initial_parameters import check_initial_parameters
from attnjax.runs.lease import holder
from attnjax.sweeps.costs import Costs, costs
from attnjax.sweeps.plan import Sweep, check_corpus, check_folders, unfinished_runs
from attnjax.sweeps.tune import Tuner
from attnjax.training.checkpoints.checkpoint import latest_step
from attnjax.training.log.metrics_log import FILE as METRICS, read


@dataclass(frozen=True, kw_only=True)
class PlannedVariant:
    """The runs of a variant that a call would make.

    Attributes:
        name: the name of the variant.
        done: the seeds of its finished runs.
        running: the seeds of the runs that a process trains now, and which process.
        failed: the seeds of the runs that failed the last time, and why.
        started: the seeds of its interrupted runs, and the step of each one's last checkpoint.
        missing: the seeds of the runs that were never started, or have no checkpoint yet.
        points: the number of points of the grid.
        untuned: the number of those points that are not finished.
        failure: why the tuning of the variant failed the last time; None: it did not fail.
        steps: the updates of each run.
        costs: the costs of a run; None: the data are not on this machine.
        seconds: an estimate of the training time that is left, from the logs of the variant's
            earlier runs; None: there are none.
    """

    name: str
    done: tuple[int, ...]
    running: Mapping[int, str]
    failed: Mapping[int, str]
    started: Mapping[int, int]
    missing: tuple[int, ...]
    points: int
    untuned: int
    failure: str | None
    steps: int
    costs: Costs | None
    seconds: float | None


def dry_run(plan: Sweep) -> list[PlannedVariant]:
    """The variants that a call of `sweep` would run, with the state of each run.

    Raises:
        UserError: as `sweep`, before anything is trained.
    """
    chosen = plan.chosen()
    check_folders(plan, chosen)
    corpora = {one.task: _corpus(one.task) for one in chosen.values()}
    coming = set[Path]()
    for name, one in chosen.items():
        runs, data = plan.runs(name, one), corpora[one.task]
        if data is not None:
            seeds = [wanted.seed for wanted in unfinished_runs(runs).values()]
            check_initial_parameters(one, data.vocabularies, seeds, plan.above, coming)
        coming |= runs.keys()
    return [
        _planned(plan, plan.tuner(name, one), corpora[one.task]) for name, one in chosen.items()
    ]


def _corpus(task: Task) -> Corpus | None:
    try:
        return task.load()
    except NoCorpus:
        return None


def _planned(plan: Sweep, tuner: Tuner, corpus: Corpus | None) -> PlannedVariant:
    if corpus is not None:
        check_corpus(tuner, corpus)
    tuned = tuner.tuned()
    experiment = tuned or tuner.experiment
    runs = plan.runs(tuner.variant, experiment)
    # seeds are trained anew after another tuning, so only a tuned variant has runs that count
    waiting = runs if tuned is None else unfinished_runs(runs)
    steps = {} if tuned is None else {folder: latest_step(folder) for folder in waiting}
    points = tuner.manifests if tuner.grid else {}
    untuned = unfinished_runs(points)
    left = [experiment.training.steps - steps.get(folder, 0) for folder in waiting]
    left += [experiment.training.steps - latest_step(folder) for folder in untuned]
    pace = _seconds_a_step(tuner.folder)
    running = {folder: str(one) for folder in waiting if (one := holder(folder))}
    failures_of_runs = {folder: failures.reason(folder) for folder in waiting.keys() - running}
    failed = {folder: why for folder, why in failures_of_runs.items() if why is not None}
    idle = {folder: one.seed for folder, one in waiting.items() if folder not in running}
    return PlannedVariant(
        name=tuner.variant,
        done=tuple(one.seed for folder, one in runs.items() if folder not in waiting),
        running={waiting[folder].seed: who for folder, who in running.items()},
        failed={waiting[folder].seed: why for folder, why in sorted(failed.items())},
        started={
            seed: steps[folder]
            for folder, seed in idle.items()
            if steps.get(folder) and folder not in failed
        },
        missing=tuple(
            seed for folder, seed in idle.items() if not steps.get(folder) and folder not in failed
        ),
        points=len(points),
        untuned=len(untuned),
        failure=failures.own_reason(tuner.folder),
        steps=experiment.training.steps,
        costs=None if corpus is None else costs(experiment.resolve(corpus), corpus),
        seconds=0.0 if not left else None if pace is None else sum(left) * pace,
    )


def _seconds_a_step(folder: Path) -> float | None:
    """The mean time of an update in the logs of a variant's runs; None: there are no logs."""
    logs = [read(path.parent) for path in sorted(folder.glob(f"**/{METRICS}"))]
    steps = sum(rows[-1]["step"] for rows in logs if rows)
    return sum(rows[-1].get("seconds", 0.0) for rows in logs if rows) / steps if steps else None
