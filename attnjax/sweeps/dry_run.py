"""The runs that `attnjax run` would make, with their costs and an estimate of the time.

Nothing is written, and no folder is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from attnjax.data.corpus import Corpus, Task
from attnjax.data.preparation import to_be_prepared
from attnjax.errors import NoCorpus
from attnjax.runs import failures
from attnjax.runs.initial_parameters import check_initial_parameters
from attnjax.runs.run_folder import RunStatus, status
from attnjax.sweeps.checks import check_corpus, check_data, check_folders
from attnjax.sweeps.costs import Costs, costs
from attnjax.sweeps.plan import Sweep
from attnjax.sweeps.seed_groups import Group
from attnjax.sweeps.tune import Tuner
from attnjax.training.log.metrics_log import FILE as METRICS, read


@dataclass(frozen=True, kw_only=True)
class PlannedVariant:
    """The runs of a variant that a call would make, each by its status.

    Attributes:
        runs: by their seeds.
        points: at the points of the grid; []: the variant is not tuned.
        tied: at values that are tied with the chosen ones.
        failure: why the tuning of the variant failed the last time; None: it did not fail.
        steps: the updates of each run.
        costs: of a run; None: the data are not read.
        unread: why the data are not read, in a sentence; None: they are.
        pace: the seconds of an update in the logs of earlier runs; None: there are none.
    """

    name: str
    runs: Mapping[int, RunStatus]
    points: Sequence[RunStatus]
    tied: Sequence[RunStatus]
    failure: str | None
    steps: int
    costs: Costs | None
    unread: str | None
    pace: float | None

    @property
    def waiting(self) -> list[RunStatus]:
        """The runs that are not finished, points of the grid included."""
        every = *self.runs.values(), *self.points, *self.tied
        return [run for run in every if run.state != "done"]

    @property
    def seconds(self) -> float | None:
        """An estimate of the training time that is left; None: nothing was trained here."""
        if not self.waiting:
            return 0.0
        left = sum(self.steps - run.step for run in self.waiting)
        return None if self.pace is None else left * self.pace


def dry_run(plan: Sweep) -> list[PlannedVariant]:
    """The variants that a call of `sweep` would run, with the state of each run."""
    check_folders(plan)
    corpus, coming = cache(_corpus), set[Path]()
    chosen = plan.chosen()
    read = {variant.task: corpus(variant.task) for variant in chosen.values()}
    check_data(plan, {task: data for task, data in read.items() if isinstance(data, Corpus)})
    variants = []
    for name, variant in chosen.items():
        variants.append(_planned(Tuner(plan, name, variant), corpus(variant.task), coming))
        coming |= plan.runs(name, variant).keys()
    return variants


def _corpus(task: Task) -> Corpus | str:
    """The corpus of a task, or why it is not read."""
    try:
        if to_be_prepared(task):
            return (
                "the corpus is large, and is prepared at its first use, by `attnjax run` or "
                "`attnjax data prepare`"
            )
        return task.load()
    except NoCorpus as error:
        return str(error)


def _planned(tuner: Tuner, read: Corpus | str, coming: set[Path]) -> PlannedVariant:
    """The runs of a variant; `coming` are those of the variants before it."""
    corpus, unread = (None, read) if isinstance(read, str) else (read, None)
    plan, tuned = tuner.plan, tuner.tuned()
    experiment = tuned or tuner.experiment
    runs = plan.runs(tuner.variant, experiment)
    if corpus is not None:
        check_corpus(tuner, corpus)
        seeds = [wanted.seed for wanted in plan.unfinished(runs).values()]
        check_initial_parameters(experiment, corpus.vocabularies, seeds, plan.above, coming)

    def states(runs: Group) -> list[RunStatus]:
        return [status(folder, wanted, plan.verified) for folder, wanted in runs.items()]

    of_seeds = dict(zip((wanted.seed for wanted in runs.values()), states(runs), strict=True))
    if tuned is None:
        # seeds are trained anew after another tuning
        of_seeds = {seed: _anew(state) for seed, state in of_seeds.items()}
    return PlannedVariant(
        name=tuner.variant,
        runs=of_seeds,
        points=states(tuner.manifests) if plan.grid else [],
        tied=[state for _, runs in tuner.tied() for state in states(runs)],
        failure=failures.own_reason(tuner.folder),
        steps=experiment.training.steps,
        costs=None if corpus is None else costs(experiment.resolve(corpus), corpus),
        unread=unread,
        pace=_seconds_a_step(tuner.folder),
    )


def _anew(run: RunStatus) -> RunStatus:
    """The status of a run that will begin again at step 0."""
    return replace(run, step=0) if run.state in ("running", "failed") else RunStatus("missing")


def _seconds_a_step(folder: Path) -> float | None:
    """The mean time of an update in the logs of a variant's runs; None: there are no logs."""
    logs = [read(path.parent) for path in sorted(folder.glob(f"**/{METRICS}"))]
    last = [rows[-1] for rows in logs if rows]
    steps = sum(row["step"] for row in last)
    return sum(row.get("seconds", 0.0) for row in last) / steps if steps else None
