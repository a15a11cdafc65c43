"""Runs an ablation: every variant with every seed, each run in a folder of its own.

    <runs>/<experiment>/<variant>/seed-<n>/                 see `attnjax.runs.run_folder`
    <runs>/<experiment>/<variant>/tied/<values>/seed-<n>/   see `attnjax.sweeps.tune.Tuner.tied`
    <runs>/<experiment>/summary.json                        see `attnjax.results.summary`

A finished run is not run again, unless `training.steps` has grown; an interrupted run goes on. The
seeds of a variant, which is tuned first if the experiment file has a grid, are trained together, in
groups. Several processes, of several machines, may work on one sweep (`attnjax.runs.lease`).
"""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from attnjax.console import print_line
from attnjax.data.corpus import Corpus, Task
from attnjax.data.loaded import Corpora
from attnjax.errors import UserError
from attnjax.experiment.tuning import describe, points
from attnjax.reporting.live import LiveReport
from attnjax.runs.failures import SweepFailures
from attnjax.runs.initial_parameters import check_initial_parameters
from attnjax.runs.lease import Taken
from attnjax.sweeps.checks import check_corpus, check_data, check_folders
from attnjax.sweeps.plan import Sweep
from attnjax.sweeps.tune import Tuner
from attnjax.sweeps.variant_work import VariantWork

SECONDS_BETWEEN_LOOKS = 10.0
"""How often a process that has nothing to train looks at the runs that other processes train."""


def sweep(plan: Sweep, console: Console) -> dict[str, str]:
    """Tune every variant, and train, decode and measure every run that is not finished yet.

    Returns why runs and tunings failed, by their folders' names: a group that fails does not stop
    the others, and calling again tries it again. Runs that other processes train are waited for,
    and taken up when those processes die.

    Raises:
        UserError: the experiment cannot be run as it is; nothing that was saved is lost.
        Interrupted: a signal came; calling again resumes.
        Exception: the only group to be run failed.
    """
    say = partial(print_line, console)
    corpora, failed = Corpora(say), SweepFailures(plan.folder, console)
    for path in plan.loaded.ablation.tune:
        if path not in plan.grid:
            say(f"{path} is not tuned: the command line sets it")
    check_folders(plan)
    # all variants are checked against the data before the first is trained
    waiting = _waiting(plan, corpora, console)
    for sentence in plan.chosen_parts():
        say(sentence)
    untuned = [tuner for tuner in waiting if tuner.tuned() is None]
    if untuned:
        count = "1 variant" if len(untuned) == 1 else f"{len(untuned)} variants"
        seeds = plan.loaded.ablation.tuning_seeds
        say(
            f"tunes {count} x {len(points(plan.grid))} values x {len(seeds)} seeds first: "
            f"{describe(plan.grid)}; chosen by the mean validation loss",
        )
    only, live = len(waiting) == 1, LiveReport(folder=plan.folder, loaded=plan.loaded)
    work = [
        VariantWork(
            tuner=tuner,
            title=tuner.variant if only else f"{tuner.variant} (variant {place} of {len(waiting)})",
            only=only,
            corpora=corpora,
            failed=failed,
            live=live,
            console=console,
        )
        for place, tuner in enumerate(waiting, start=1)
    ]
    before = ""
    while taken := _run(work):
        # a run that two groups wait for is in both
        names = dict.fromkeys(run.run for run in taken)
        sentence = f"waits for what other processes run: {', '.join(names)}"
        if sentence != before:
            say(sentence)
        before = sentence
        time.sleep(SECONDS_BETWEEN_LOOKS)
    return {str(run.relative_to(plan.folder)): why for run, why in failed.reasons.items()}


def _waiting(plan: Sweep, corpora: Corpora, console: Console) -> list[Tuner]:
    """The variants that are not finished; a variant that cannot be run is refused."""
    waiting, coming, chosen = list[Tuner](), set[Path](), plan.chosen()
    read = {each.task: _read(corpora, each.task) for each in chosen.values()}
    check_data(plan, {task: data for task, data in read.items() if isinstance(data, Corpus)})
    for variant, experiment in chosen.items():
        tuner = Tuner(plan, variant, experiment)
        tuned = tuner.tuned()
        runs = plan.runs(variant, tuned or experiment)
        for _, others in tuner.tied():
            runs |= others
        unfinished = plan.unfinished(runs)
        if tuned is not None and not unfinished:
            error = read[experiment.task]
            unknown = "" if isinstance(error, Corpus) else f"; their data are not compared: {error}"
            print_line(
                console, f"{variant}: {len(runs)} of {len(runs)} runs are there already{unknown}"
            )
            continue
        data = corpora.of(experiment.task)
        check_corpus(tuner, data)
        seeds = [wanted.seed for wanted in unfinished.values()]
        check_initial_parameters(experiment, data.vocabularies, seeds, plan.above, coming)
        coming |= runs.keys()
        waiting.append(tuner)
    return waiting


def _read(corpora: Corpora, task: Task) -> Corpus | UserError:
    """The corpus of a task, or why it cannot be read: a finished run does not need it."""
    try:
        return corpora.of(task)
    except UserError as error:
        return error


def _run(variants: Sequence[VariantWork]) -> list[Taken]:
    """Run all that is free; return what other processes are running."""
    taken: dict[Path, Taken] = {}
    for work in variants:
        taken |= work.run(taken)
    return [*dict.fromkeys(taken.values())]
