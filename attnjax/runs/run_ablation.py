"""Runs an ablation: every variant with every seed, each run in a folder of its own.

    <runs>/<experiment>/<variant>/seed-<n>/     see `attnjax.runs.run_folder`
    <runs>/<experiment>/summary.json            see `attnjax.runs.summary`

A finished run is not run again, unless `training.steps` has grown; an interrupted run goes on. The
seeds of a variant are trained together, in one program. If the experiment file has a grid, each
variant is tuned first (`attnjax.runs.tune`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from attnjax.config.override import Override, as_far_as, override
from attnjax.config.walk import differences
from attnjax.data.corpus import Corpus, Task
from attnjax.errors import Interrupted, MachineError, UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import SPLIT
from attnjax.evaluation.metric import check_metric
from attnjax.experiment import Experiment
from attnjax.experiment.claims import changes_meaning
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import Grid, describe
from attnjax.reporting.number import number
from attnjax.runs import failures
from attnjax.runs.finish import finish
from attnjax.runs.initial_parameters import check_initial_parameters, with_initial_parameters
from attnjax.runs.manifest import CONFIG, Manifest, manifest
from attnjax.runs.run_folder import (
    check,
    claim_folder,
    finished,
    locked,
    write_result,
)
from attnjax.runs.tune import Tuner
from attnjax.training.run_state import Run
from attnjax.training.train import train
from attnjax.training.train_setup import TrainSetup


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The runs of an experiment file that a command asks for.

    Attributes:
        loaded: the experiment file.
        variants: the names of the variants to run; (): all.
        seeds: the number of runs of each variant; None: as many as the file says.
        only: the seeds to run, out of these; (): all.
        folder: the folder of the experiment, with all its runs.
        overrides: changes to every variant, from the command line.
    """

    loaded: ExperimentFile
    variants: tuple[str, ...]
    seeds: int | None
    only: tuple[int, ...] = ()
    folder: Path
    overrides: tuple[Override, ...]

    def chosen(self) -> dict[str, Experiment]:
        """The variants to run, with the overrides applied.

        Raises:
            UserError: a variant or a seed does not exist, or an override undoes the change that
                defines a variant.
        """
        ablation, seeds = self.loaded.ablation, self.all_seeds
        for seed in self.only:
            if seed not in seeds:
                raise UserError(
                    f"there is no seed {seed}: each variant has the seeds {seeds[0]} to "
                    f"{seeds[-1]}; --seeds gives it more"
                )
        # overrides that only a variant's parts have are left out here
        base, _ = as_far_as(ablation.base, self.overrides)
        chosen = {}
        for name in self.variants or ablation.variants:
            before = ablation.variant(name)
            chosen[name] = after = override(before, self.overrides)
            undone = set(differences(ablation.base, before)) - set(differences(base, after))
            if undone:
                raise UserError(
                    f"an override conflicts with variant {name}, which is defined by "
                    f"{min(undone)}; leave {name} out by naming others with --variant"
                )
        return chosen

    @property
    def all_seeds(self) -> range:
        """The seeds of each variant's runs."""
        first = self.loaded.ablation.first_seed
        count = self.loaded.ablation.seeds if self.seeds is None else self.seeds
        return range(first, first + count)

    @property
    def above(self) -> Path:
        """The folder of all experiments' runs."""
        return self.folder.parent

    @property
    def grid(self) -> Grid:
        """The grid that variants are tuned over: the file's grid without overridden fields.

        Overriding a part overrides all of its fields.
        """
        given = tuple(one.path for one in self.overrides)
        return {
            path: values
            for path, values in self.loaded.ablation.tune.items()
            if not any(f"{path}.".startswith(f"{over}.") for over in given)
        }

    def tuner(self, variant: str, experiment: Experiment) -> Tuner:
        """The tuning of a variant."""
        return Tuner(
            loaded=self.loaded,
            variant=variant,
            experiment=experiment,
            grid=self.grid,
            folder=self.folder / variant,
        )

    def runs(self, variant: str, experiment: Experiment) -> dict[Path, Manifest]:
        """The folders of a tuned variant's runs, and the manifest of each."""
        return {
            self.folder / variant / f"seed-{seed}": manifest(
                self.loaded, variant, seed, experiment, tuned=tuple(self.grid)
            )
            for seed in self.only or self.all_seeds
        }


def sweep(plan: Sweep, console: Console) -> dict[str, str]:
    """Tune every variant, and train, decode and measure every run that is not finished yet.

    A variant that fails does not stop the others; calling again tries it again.

    Returns:
        Why each failed variant failed; {}: all runs are finished.

    Raises:
        UserError: the experiment cannot be run as it is; nothing that was saved is lost.
        Interrupted: Ctrl-C or a batch system's signal came; calling again resumes.
        Exception: the only variant to be run failed.
    """
    chosen = plan.chosen()
    for path in plan.loaded.ablation.tune:
        if path not in plan.grid:
            _say(console, f"{path} is not tuned: the command line sets it")
    check_folders(plan, chosen)
    corpora: dict[Task, Corpus] = {}

    def corpus(task: Task) -> Corpus:
        if task not in corpora:
            corpora[task] = task.load()
            for note in corpora[task].notes:
                _say(console, f"data: {note}")
        return corpora[task]

    # all variants are checked against the data before the first is trained
    waiting, coming = {}, set[Path]()
    for variant, experiment in chosen.items():
        tuner = plan.tuner(variant, experiment)
        tuned = tuner.tuned()
        runs = plan.runs(variant, tuned or experiment)
        if tuned is None or unfinished_runs(runs):
            data = corpus(experiment.task)
            check_corpus(tuner, data)
            seeds = [wanted.seed for wanted in unfinished_runs(runs).values()]
            check_initial_parameters(experiment, data.vocabularies, seeds, plan.above, coming)
            coming |= runs.keys()
            waiting[variant] = tuner
        else:
            console.print(f"{variant}: {len(runs)} of {len(runs)} runs are there already")
    untuned = [tuner for tuner in waiting.values() if tuner.tuned() is None]
    if untuned:
        count = "1 variant" if len(untuned) == 1 else f"{len(untuned)} variants"
        _say(
            console,
            f"tunes {count} x {len(untuned[0].manifests)} values first: {describe(plan.grid)}; "
            f"chosen by the validation loss of seed {untuned[0].seed}",
        )
    failed = {}
    for place, (variant, tuner) in enumerate(waiting.items(), start=1):
        title = f"{variant} (variant {place} of {len(waiting)})" if len(waiting) > 1 else variant
        try:
            _run_variant(plan, tuner, corpus(tuner.experiment.task), console, title)
        except (Interrupted, MachineError, OSError):
            raise
        except Exception as error:
            failed[variant] = failures.record(tuner.folder, error)
            if len(waiting) == 1:
                raise
            _say(console, f"{variant} failed: {failed[variant]}")
        else:
            failures.forget(tuner.folder)
    return failed


def _run_variant(plan: Sweep, tuner: Tuner, data: Corpus, console: Console, title: str) -> None:
    """Tune a variant, and run its seeds that are not finished."""
    experiment = tuner.tuned() or tuner.tune(data, console, title)
    unfinished = unfinished_runs(plan.runs(tuner.variant, experiment))
    with locked(unfinished):
        for folder, wanted in unfinished.items():
            claim_folder(folder, wanted, plan.loaded, data.vocabularies)
        if unfinished:
            resolved = experiment.resolve(data)
            _run(tuner.variant, resolved, data, unfinished, plan.above, console, title)


def _say(console: Console, sentence: str) -> None:
    console.print(sentence, highlight=False, markup=False, soft_wrap=True)


def unfinished_runs(runs: Mapping[Path, Manifest]) -> dict[Path, Manifest]:
    """The runs that are not finished."""
    return {folder: wanted for folder, wanted in runs.items() if not finished(folder, wanted)}


def check_corpus(tuner: Tuner, data: Corpus) -> None:
    """Refuse a corpus that does not fit a variant, at any point of its grid.

    Raises:
        UserError: the corpus cannot be used to tune, train or measure the variant, or a claim is
            about a number that the variant does not measure.
    """
    tuner.check_corpus(data)
    resolved = tuner.experiment.resolve(data)
    resolved.recipe.check(data)
    for part in (*resolved.measures, resolved.unknown):
        if part is not None:
            part.check(resolved.model, data)
    references = data.references.get(SPLIT)
    if resolved.metric is not None and references:
        check_metric(resolved.metric, references[0])
    ablation = tuner.loaded.ablation
    changed = differences(ablation.variant(tuner.variant), tuner.experiment)
    if not any(map(changes_meaning, changed)):
        ablation.check_claims(tuner.variant, resolved)


def check_folders(plan: Sweep, chosen: Mapping[str, Experiment]) -> None:
    """Refuse other settings in any folder of the experiment: all runs share one table.

    Runs that are chosen may have been shorter: they are lengthened.
    """
    running = {folder for name, one in chosen.items() for folder in plan.runs(name, one)}
    for variant, experiment in plan.loaded.ablation.variants.items():
        if not (plan.folder / variant).is_dir():
            continue
        settings, _ = as_far_as(experiment, plan.overrides)
        tuner = plan.tuner(variant, settings)
        tuner.check(may_lengthen=variant in chosen)
        tuned = tuner.tuned()
        for path in sorted((plan.folder / variant).glob(f"seed-*/{CONFIG}")):
            seed = path.parent.name.removeprefix("seed-")
            if seed.isdigit():
                check(
                    path.parent,
                    manifest(plan.loaded, variant, int(seed), tuned or settings),
                    plan.loaded,
                    may_lengthen=path.parent in running,
                    open_fields=() if tuned else tuple(plan.grid),
                )


def _run(
    variant: str,
    experiment: Experiment,
    corpus: Corpus,
    runs: dict[Path, Manifest],
    above: Path,
    console: Console,
    title: str,
) -> None:
    """Train the runs of a variant together, and finish each."""
    seeds = [Run(folder=folder, seed=wanted.seed) for folder, wanted in runs.items()]
    setup, begun = with_initial_parameters(
        TrainSetup.of(experiment.recipe, corpus), experiment, corpus.vocabularies, seeds, above
    )
    if begun:
        _say(console, f"{variant}: {begun}")
    outcomes = train(seeds, setup, console=console, title=title)
    for (folder, wanted), outcome in zip(runs.items(), outcomes, strict=True):
        initial = setup.initial_state(wanted.seed).params if experiment.measures else None
        with console.status(f"{variant}: decoding and measuring seed {wanted.seed}"):
            found = finish(folder, experiment, corpus, outcome, initial, seed=wanted.seed)
        write_result(folder, {"variant": variant, "seed": wanted.seed, **found})
        measured = map(Measurement.read, found["metrics"])
        shown = ", ".join(f"{one.key} {number(one.value)}" for one in measured if one.better)
        console.print(f"{variant}, seed {wanted.seed}: {shown}", highlight=False, soft_wrap=True)
