"""A trained run, opened from its folder, and several of them as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp

from attnjax.config.override import Override, override
from attnjax.config.serialize import from_json, own_names
from attnjax.config.walk import differences
from attnjax.data.corpus import Corpus
from attnjax.data.vocabularies import Vocabularies, load_vocabularies
from attnjax.data.vocabulary import Vocabulary
from attnjax.errors import UserError, warn
from attnjax.evaluation.measures.base import EvalInputs
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.experiment import Experiment
from attnjax.lab.checkpoints.snapshot import difference
from attnjax.lab.log import metrics_log
from attnjax.lab.runs.manifest import CONFIG, Manifest, load_copy, read, warn_of_text
from attnjax.lab.runs.result import read_result, result_params
from attnjax.lab.runs.run_folder import VOCABULARY, damaged_files
from attnjax.models.base import Model
from attnjax.models.ensemble import Ensemble
from attnjax.models.sequence_model import SequenceModel
from attnjax.nn.paths import flat


@dataclass(frozen=True, kw_only=True, repr=False)
class Trained:
    """A trained run, ready for use.

    Attributes:
        experiment: the resolved experiment, with vocabulary sizes and the default metric; its task
            has the data of the run's seed.
        params: the averaged parameters, see `Training.average`.
        finished: whether the training has ended.
    """

    folder: Path
    manifest: Manifest
    experiment: Experiment
    vocabularies: Vocabularies
    params: Any
    finished: bool

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished"
        of = f"{self.manifest.experiment}, {self.manifest.variant}, seed {self.manifest.seed}"
        return f"<{type(self).__name__} {str(self.folder)!r}: {of}; {state}>"

    def text(self, side: Literal["source", "target"]) -> Vocabulary:
        """Return the vocabulary of a side.

        Raises:
            UserError: the side is not text.
        """
        vocabulary = getattr(self.vocabularies, side)
        if vocabulary is None:
            raise UserError(f"{self.folder} was trained on data whose {side} is not text")
        return vocabulary

    def inputs(self, corpus: Corpus, sentences: Sentences | None = None) -> EvalInputs:
        """Return the inputs of a measure of the run on a corpus."""
        model, batching = self.experiment.model, self.experiment.training.batching
        log, seed = partial(metrics_log.read, self.folder), self.manifest.seed
        return EvalInputs(model, self.params, corpus, batching, sentences, seed, log)


def open_trained(folder: Path, *, trust: bool = False) -> Trained:
    """Open a trained run from its folder alone; `trust` as in `begun`.

    Raises:
        UserError: as `begun`; or the run is not trained yet.
    """
    manifest, experiment, vocabularies = begun(folder, trust=trust)
    result = read_result(folder)
    for damage in damaged_files(folder, result) if result else ():
        warn(damage)
    resolved = experiment.of_seed(manifest.seed).with_vocabularies(vocabularies)
    params = result_params(folder, manifest, result)
    check_params(params, resolved.model, vocabularies, folder)
    return Trained(
        folder=folder,
        manifest=manifest,
        experiment=resolved,
        vocabularies=vocabularies,
        params=params,
        finished=result is not None,
    )


def check_params(params: Any, model: Model, vocabularies: Vocabularies, folder: Path) -> None:
    """Refuse parameters of another model; they are not compared where a side is not text.

    Raises:
        UserError: a parameter is missing, is not the model's, or has another shape or kind.
    """
    if None in vocabularies:
        return
    words = jax.ShapeDtypeStruct((1, 2), jnp.int32)
    call = partial(model.init, deterministic=True)
    try:
        wanted = jax.eval_shape(call, jax.random.key(0), words, words).get("params", {})
    except Exception:  # a model of one's own may want more words than that
        return
    different = difference(params, wanted)
    for name, value in flat(params).items() if not different else ():
        if not jnp.issubdtype(value.dtype, jnp.floating):
            different = f"{name} holds {value.dtype}"
    if different:
        raise UserError(f"{folder} has the parameters of another model: {different}")


def begun(folder: Path, *, trust: bool = False) -> tuple[Manifest, Experiment, Vocabularies]:
    """Read the manifest of a run that was begun, its experiment and its vocabularies.

    The folder's experiment.py is executed only if the experiment has parts that the file defines.

    Raises:
        UserError: the folder is not that of a run, is damaged, or has another run's vocabulary; or
            experiment.py is not the text of a file of the user's, and `trust` is False.
    """
    manifest = read(folder)
    own: Mapping[str, type] = {}
    if own_names(manifest.settings):
        own = load_copy(folder, manifest, trust=trust).own
    else:
        warn_of_text(folder, manifest)
    experiment = read_experiment(folder, manifest, own)
    return manifest, experiment, load_vocabularies(folder / VOCABULARY, manifest.vocabulary)


def read_experiment(
    folder: Path, manifest: Manifest, own: Mapping[str, type] | None = None
) -> Experiment:
    """Read a manifest's experiment; `own` are the experiment file's dataclasses, by name."""
    experiment = from_json(manifest.settings, own)
    if not isinstance(experiment, Experiment):
        raise UserError(f"{folder / CONFIG} is damaged: its settings are no Experiment")
    return experiment


def with_overrides(trained: Trained, overrides: Sequence[Override]) -> Trained:
    """Apply overrides that do not change parameters: of the search, of ablated heads.

    Raises:
        UserError: an override has an unknown path or value, or the search does not fit the model.
    """
    experiment = override(trained.experiment, overrides)
    if isinstance(experiment.model, SequenceModel):
        experiment.search.check(experiment.model)
    return replace(trained, experiment=experiment)


def ensemble(runs: Sequence[Trained]) -> Trained:
    """Join trained runs into one, whose model is the `Ensemble` of their models.

    The models may differ. Search, metric, measures and everything else are those of the first run.
    A single run is returned unchanged.

    Raises:
        UserError: the runs have different tasks or vocabularies, or a model predicts no words.
    """
    first = runs[0]
    if len(runs) == 1:
        return first
    members = []
    for run in runs:
        model = run.experiment.model
        if task := differences(first.experiment.task, run.experiment.task, "task"):
            path, (ours, theirs) = next(iter(task.items()))
            raise UserError(
                f"the runs of an ensemble must have one task; {path} is {ours!r} in "
                f"{first.folder} and {theirs!r} in {run.folder}"
            )
        if run.vocabularies.digest != first.vocabularies.digest:
            raise UserError(
                f"the runs of an ensemble must have the same vocabularies; those of {first.folder} "
                f"and {run.folder} differ"
            )
        if not isinstance(model, SequenceModel):
            raise UserError(
                "an ensemble is of models that predict words; "
                f"{run.folder} is of a {type(model).__name__}"
            )
        members.append(model)
    return replace(
        first,
        experiment=replace(first.experiment, model=Ensemble(members=tuple(members))),
        params=Ensemble.params(run.params for run in runs),
        finished=all(run.finished for run in runs),
    )
