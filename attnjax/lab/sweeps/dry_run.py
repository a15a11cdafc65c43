"""The runs that `attnjax run` would make, with their costs and an estimate of the time.

Nothing is written, and no folder is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attnjax.data.corpus import Corpus, Task
from attnjax.data.loaded import Corpora
from attnjax.data.preparation import to_be_prepared
from attnjax.errors import NoCorpus
from attnjax.experiment import Experiment
from attnjax.lab.log.metrics_log import FILE as METRICS, read
from attnjax.lab.runs import failures
from attnjax.lab.runs.initial_parameters import check_initial_parameters
from attnjax.lab.runs.run_folder import RunStatus
from attnjax.lab.sweeps.checks import check_corpus, check_data, check_folders
from attnjax.lab.sweeps.costs import Costs, costs
from attnjax.lab.sweeps.found import Found, VariantRuns
from attnjax.lab.sweeps.plan import Plan, seeds_of
from attnjax.lab.sweeps.recorded import of_records


@dataclass(frozen=True, kw_only=True)
class VariantStatus:
    """The runs of a variant that a call would make, each by its status.

    Attributes:
        runs: by their seeds.
        points: at the points of the grid; []: the variant is not tuned.
        tied: at values that are tied with the chosen ones.
        of_records: sentences: which runs are recorded, and why records of others are not taken.
        failure: why the tuning of the variant failed the last time; None: it did not fail.
        steps: the updates of each run.
        costs: of a run; None: the data are not read, or every run is recorded.
        unread: why the data are not read, in a sentence; None: they are.
        pace: the seconds of an update in the logs of earlier runs; None: there are none.
    """

    name: str
    runs: Mapping[int, RunStatus]
    points: Sequence[RunStatus]
    tied: Sequence[RunStatus]
    of_records: Sequence[str]
    failure: str | None
    steps: int
    costs: Costs | None
    unread: str | None
    pace: float | None

    @property
    def waiting(self) -> list[RunStatus]:
        """The runs that are not finished, points of the grid included."""
        every = *self.runs.values(), *self.points, *self.tied
        return [run for run in every if run.state not in ("done", "recorded")]

    @property
    def seconds(self) -> float | None:
        """An estimate of the training time that is left; None: nothing was trained here."""
        if not self.waiting:
            return 0.0
        left = sum(self.steps - run.step for run in self.waiting)
        return None if self.pace is None else left * self.pace


def dry_run(plan: Plan) -> list[VariantStatus]:
    """Return the variants that a call of `sweep` would run, with the status of each run."""
    tasks = dict.fromkeys(variant.experiment.task for variant in plan.variants.values())
    read = {task: _corpus(task) for task in tasks}
    known = {task: data for task, data in read.items() if isinstance(data, Corpus)}
    found = Found(plan, known)
    check_folders(found)
    check_data(plan, known)
    coming, statuses = set[Path](), list[VariantStatus]()
    for variant in found.variants():
        statuses.append(_status(variant, found, read[variant.experiment.task], coming))
        coming |= {run.folder for run in variant.seeds}
    return statuses


def _corpus(task: Task) -> Corpus | str:
    """Return the corpus of a task, or why it is not read."""
    try:
        if to_be_prepared(task):
            return (
                "the corpus is large, and is prepared at its first use, by `attnjax run` or "
                "`attnjax data prepare`"
            )
        return Corpora().of(task)
    except NoCorpus as error:
        return str(error)


def _status(
    variant: VariantRuns, found: Found, read: Corpus | str, coming: set[Path]
) -> VariantStatus:
    """Return the status of a variant's runs; `coming` are the runs of the variants before it."""
    corpus, unread = (None, read) if isinstance(read, str) else (read, None)
    above, seeds = found.request.above, variant.seeds
    experiment = seeds[0].experiment
    if corpus is not None:
        check_corpus(variant, corpus)
        left = seeds_of(found.unfinished(seeds))
        check_initial_parameters(experiment, corpus.vocabularies, left, above, coming)
    of_seeds = {run.seed: found.status(run) for run in seeds}
    if not variant.choice:
        # seeds are trained anew after another tuning
        of_seeds = {seed: _anew(run) for seed, run in of_seeds.items()}
    recorded = all(run.state == "recorded" for run in of_seeds.values())
    return VariantStatus(
        name=variant.name,
        runs=of_seeds,
        points=[found.status(run) for run in variant.tuning],
        tied=[found.status(run) for runs in variant.tied for run in runs],
        of_records=[*of_records(variant, found)],
        failure=failures.own_reason(variant.folder),
        steps=experiment.training.steps,
        costs=None if corpus is None or recorded else _costs(experiment, corpus),
        unread=unread,
        pace=_seconds_a_step(variant.folder),
    )


def _costs(experiment: Experiment, corpus: Corpus) -> Costs:
    recipe = experiment.resolve(corpus).recipe
    return costs(recipe, corpus, recipe.training.batching.plan(corpus.splits["train"]))


def _anew(run: RunStatus) -> RunStatus:
    """Return the status of a run that will begin again at step 0."""
    return replace(run, step=0) if run.state in ("running", "failed") else RunStatus("missing")


def _seconds_a_step(folder: Path) -> float | None:
    """Return the mean time of an update in a variant's logs; None: there are no logs."""
    logs = [read(path.parent) for path in sorted(folder.glob(f"**/{METRICS}"))]
    last = [rows[-1] for rows in logs if rows]
    steps = sum(row["step"] for row in last)
    return sum(row.get("seconds", 0.0) for row in last) / steps if steps else None
