"""What is refused before the first run is trained."""

from collections.abc import Mapping

from attnjax.config.override import apply_possible
from attnjax.config.vary import vary
from attnjax.config.walk import differences
from attnjax.data.corpus import Corpus, Task
from attnjax.errors import UserError
from attnjax.evaluation.measures.base import SPLIT
from attnjax.evaluation.metric import check_metric
from attnjax.experiment.claims import changes_meaning
from attnjax.experiment.tuning import points
from attnjax.runs.data_digests import check_variant
from attnjax.runs.initial_parameters import source_of
from attnjax.runs.manifest import manifest
from attnjax.runs.run_folder import check
from attnjax.sweeps.plan import Sweep
from attnjax.sweeps.tune import SCHEDULE, Tuner


def check_corpus(tuner: Tuner, data: Corpus) -> None:
    """Refuse a corpus that does not fit a variant, at any point of its grid.

    A claim about a number that the variant does not measure is refused, too.
    """
    if tuner.plan.grid:
        _check_tuning(tuner, data)
    resolved = tuner.experiment.resolve(data)
    resolved.recipe.check(data)
    for part in (*resolved.measures, resolved.unknown):
        if part is not None:
            part.check(resolved.model, data)
    references = data.references.get(SPLIT)
    if resolved.metric is not None and references:
        check_metric(resolved.metric, references[0])
    ablation = tuner.plan.loaded.ablation
    changed = differences(ablation.variant(tuner.variant), tuner.experiment)
    if not any(map(changes_meaning, changed)):
        ablation.check_claims(tuner.variant, resolved)


def _check_tuning(tuner: Tuner, data: Corpus) -> None:
    """Refuse a corpus that the variant cannot be tuned on."""
    experiment, variant = tuner.experiment, tuner.variant
    scoring, why = experiment.training.scoring, None
    if not data.splits.get("valid"):
        why = "the corpus has no validation examples"
    elif scoring is not None and scoring.decides == "score":
        why = "training.scoring.decides is score"
    if why is not None:
        raise UserError(
            f"{variant} cannot be tuned: tuning chooses by the validation loss, and {why}"
        )
    given, seed = experiment.initial_parameters_from, tuner.seeds[0]
    if given is not None and source_of(experiment, seed, tuner.plan.above).name == f"seed-{seed}":
        raise UserError(
            f"{variant} cannot be tuned: it begins with the run of {given} that has its own seed, "
            f"and tuning has the seed {seed}; name one run for all seeds, as "
            f"{given}/seed-{tuner.plan.loaded.ablation.first_seed}"
        )
    # whether a corpus fits does not depend on the schedule; `check_corpus` checks the variant
    schedule = {SCHEDULE: experiment.optimizer.schedule}
    varied = {vary(experiment, {**point, **schedule}) for point in points(tuner.plan.grid)}
    for other in varied - {experiment}:
        other.resolve(data).recipe.check(data)


def check_data(plan: Sweep, corpora: Mapping[Task, Corpus]) -> None:
    """Refuse runs in the experiment's folder of other data than those of their task are now.

    Tasks that have no corpus here are not compared.
    """
    for variant, experiment in plan.loaded.ablation.variants.items():
        settings, _ = apply_possible(experiment, plan.overrides)
        corpus = corpora.get(settings.task)
        if corpus is not None:
            check_variant(plan.folder / variant, corpus)


def check_folders(plan: Sweep) -> None:
    """Refuse other settings in any folder of the experiment: all runs share one table.

    Runs that are chosen may have been shorter: they are lengthened.
    """
    chosen = plan.chosen()
    running = {folder for item in chosen.items() for folder in plan.runs(*item)}
    for variant, experiment in plan.loaded.ablation.variants.items():
        if not (plan.folder / variant).is_dir():
            continue
        settings, _ = apply_possible(experiment, plan.overrides)
        tuner = Tuner(plan, variant, settings)
        for runs in (tuner.manifests, *(runs for _, runs in tuner.tied())):
            for folder, wanted in runs.items():
                check(folder, wanted, plan.loaded, may_lengthen=variant in chosen)
        tuned = tuner.tuned()
        for folder in sorted(tuner.folder.glob("seed-*")):
            seed = folder.name.removeprefix("seed-")
            if seed.isdigit():
                check(
                    folder,
                    manifest(plan.loaded, variant, int(seed), tuned or settings),
                    plan.loaded,
                    may_lengthen=folder in running,
                    open_fields=() if tuned else tuple(plan.grid),
                )
