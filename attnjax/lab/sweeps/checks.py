"""What is refused before the first run is trained, and the variants that are left then."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from attnjax.config.vary import vary
from attnjax.config.walk import differences
from attnjax.data.corpus import Corpus, Task
from attnjax.data.loaded import Corpora
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import SPLIT
from attnjax.evaluation.metric import check_metric
from attnjax.experiment.claims import changes_meaning
from attnjax.experiment.tuning import describe, points
from attnjax.lab.runs.data_digests import check_variant
from attnjax.lab.runs.initial_parameters import check_initial_parameters, source_of
from attnjax.lab.runs.run_folder import check
from attnjax.lab.sweeps.found import Found, VariantRuns
from attnjax.lab.sweeps.groups import SCHEDULE
from attnjax.lab.sweeps.outcomes import Say
from attnjax.lab.sweeps.plan import Plan, seeds_of
from attnjax.lab.sweeps.recorded import of_records, together
from attnjax.lab.sweeps.request import Request


def waiting(found: Found, corpora: Corpora, say: Say) -> list[VariantRuns]:
    """Return the variants that are not finished; say what is left to do.

    Raises:
        UserError: one of them cannot be run as it is, or a folder holds other runs.
    """
    plan, request = found.plan, found.request
    for path in request.loaded.ablation.tune:
        if path not in request.grid:
            say(f"{path} is not tuned: the command line sets it")
    check_folders(found)
    variants, left = found.variants(), list[VariantRuns]()
    read = {
        variant.experiment.task: _read(corpora, variant.experiment.task) for variant in variants
    }
    check_data(plan, {task: data for task, data in read.items() if isinstance(data, Corpus)})
    for sentence in together((variant.name, of_records(variant, found)) for variant in variants):
        say(sentence)
    coming = set[Path]()
    for variant in variants:
        unfinished = found.unfinished(variant.judged)
        if variant.choice and not unfinished:
            _say_finished(variant, found, read[variant.experiment.task], say)
            continue
        data = corpora.of(variant.experiment.task)
        check_corpus(variant, data)
        numbers, above = seeds_of(unfinished), request.above
        check_initial_parameters(variant.experiment, data.vocabularies, numbers, above, coming)
        coming |= {run.folder for run in variant.judged}
        left.append(variant)
    for sentence in plan.parts():
        say(sentence)
    if untuned := sum(not variant.choice for variant in left):
        say(_tuning(request, untuned))
    return left


def _say_finished(variant: VariantRuns, found: Found, read: Corpus | UserError, say: Say) -> None:
    """Say how many runs of a variant are there, and that their data are not."""
    runs = variant.judged
    there = sum(found.result(run) is not None for run in runs)
    unknown = "" if isinstance(read, Corpus) else f"; their data are not compared: {read}"
    if there:
        say(f"{variant.name}: {there} of {len(runs)} runs are there already{unknown}")
    elif not isinstance(read, Corpus):
        say(f"{variant.name}: the data of its records are not compared: {read}")


def compared(plan: Plan, corpora: Corpora) -> dict[Task, Corpus]:
    """Return those data of a plan's tasks that are here, to compare records with."""
    if not plan.request.records:
        return {}
    tasks = dict.fromkeys(variant.experiment.task for variant in plan.variants.values())
    read = {task: _read(corpora, task) for task in tasks}
    return {task: data for task, data in read.items() if isinstance(data, Corpus)}


def _tuning(request: Request, untuned: int) -> str:
    """Return a sentence: how many variants are tuned first, over which grid."""
    count = "1 variant" if untuned == 1 else f"{untuned} variants"
    seeds = len(request.loaded.ablation.tuning_seeds)
    return (
        f"tunes {count} x {len(points(request.grid))} values x {seeds} seeds first: "
        f"{describe(request.grid)}; chosen by the mean validation loss"
    )


def _read(corpora: Corpora, task: Task) -> Corpus | UserError:
    """Return a task's corpus, or why it cannot be read: a finished run does not need it."""
    try:
        return corpora.of(task)
    except UserError as error:
        return error


def check_corpus(variant: VariantRuns, data: Corpus) -> None:
    """Refuse a corpus that does not fit a variant, at any point of its grid.

    A claim about a number that the variant does not measure is refused, too.
    """
    if variant.request.grid:
        _check_tuning(variant, data)
    check_recipes(variant, data)
    resolved = variant.experiment.resolve(data)
    for part in (*resolved.measures, resolved.unknown):
        if part is not None:
            part.check(resolved.model, data)
    references = data.references.get(SPLIT)
    if resolved.metric is not None and references:
        check_metric(resolved.metric, references[0])
    ablation = variant.request.loaded.ablation
    changed = differences(ablation.variant(variant.name), variant.experiment)
    if not any(map(changes_meaning, changed)):
        ablation.check_claims(variant.name, resolved)


def _check_tuning(variant: VariantRuns, data: Corpus) -> None:
    """Refuse a corpus that the variant cannot be tuned on."""
    experiment, request = variant.experiment, variant.request
    scoring, why = experiment.training.scoring, None
    if not data.splits.get("valid"):
        why = "the corpus has no validation examples"
    elif scoring is not None and scoring.decides == "score":
        why = "training.scoring.decides is score"
    if why is not None:
        raise UserError(
            f"{variant.name} cannot be tuned: tuning chooses by the validation loss, and {why}"
        )
    given, seed = experiment.initial_parameters_from, request.loaded.ablation.tune_seed
    if given is not None and source_of(experiment, seed, request.above).name == f"seed-{seed}":
        raise UserError(
            f"{variant.name} cannot be tuned: it begins with the run of {given} that has its own "
            f"seed, and tuning has the seed {seed}; name one run for all seeds, as "
            f"{given}/seed-{request.loaded.ablation.first_seed}"
        )


def check_recipes(variant: VariantRuns, data: Corpus) -> None:
    """Refuse settings that do not fit together or a corpus, at any point of the grid as it is now.

    The schedule makes no difference.
    """
    alike = {SCHEDULE: variant.experiment.optimizer.schedule}
    for experiment in dict.fromkeys(
        [variant.experiment, *(vary(run.experiment, alike) for run in variant.tuning)]
    ):
        experiment.resolve(data).recipe.check(data)


def check_data(plan: Plan, corpora: Mapping[Task, Corpus]) -> None:
    """Refuse runs in the experiment's folder of other data than those of their task are now.

    Tasks that have no corpus here are not compared.
    """
    for variant in plan.of_folders:
        corpus = corpora.get(variant.experiment.task)
        if corpus is not None:
            check_variant(variant.folder, corpus)


def check_folders(found: Found) -> None:
    """Refuse other settings in any folder of the experiment: all runs share one table.

    Runs that are chosen may have been shorter: they are lengthened.
    """
    request, chosen = found.request, found.plan.variants
    for variant in map(found.of, found.plan.of_folders):
        may_lengthen = variant.name in chosen
        for run in (*variant.tuning, *(run for runs in variant.tied for run in runs)):
            check(run.folder, run.manifest, request.loaded, may_lengthen=may_lengthen)
        running = {run.folder for run in variant.seeds} if may_lengthen else set[Path]()
        for folder in sorted(variant.folder.glob("seed-*")):
            seed = folder.name.removeprefix("seed-")
            if seed.isdigit():
                check(
                    folder,
                    replace(variant.seeds[0].manifest, seed=int(seed)),
                    request.loaded,
                    may_lengthen=folder in running,
                    open_fields=() if variant.choice else tuple(request.grid),
                )
