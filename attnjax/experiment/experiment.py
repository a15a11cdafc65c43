"""An experiment: the whole configuration of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from attnjax.config.constraints import check_fields
from attnjax.data.corpus import Corpus, Task
from attnjax.data.examples import Examples
from attnjax.data.vocabularies import SIDES, Vocabularies
from attnjax.data.vocabulary import WordVocabulary
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import EXTRA
from attnjax.decoding.search import Hypotheses, Search
from attnjax.errors import UserError
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.decode_corpus import hypotheses
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.base import Measure
from attnjax.evaluation.metric import ExactMatch, Metric
from attnjax.evaluation.unknown_words import Replacement, before_replacement, replace_unknown
from attnjax.models.base import Model
from attnjax.models.sequence_model import SequenceModel
from attnjax.training.objectives.base import CrossEntropy, Objective
from attnjax.training.optimizers import Adam, Optimizer
from attnjax.training.settings import Recipe, Training

AFTER_TRAINING = ("search", "metric", "measures", "unknown")
"""The fields of an experiment that its training does not depend on, unless it scores answers."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The whole configuration of a run except its seed.

    Attributes:
        training: how long training lasts, and on which batches.
        search: how the test split is decoded.
        metric: the score of the decoded answers. None: exact match if only one answer is right, and
            BLEU for text (over the corpus' own words if it comes split into words, as in its
            published figures; over sacrebleu's tokens otherwise).
        unknown: how unknown words in answers are replaced; None: they stay.
        initial_parameters_from: the folder of a trained run, below the runs' folder or absolute,
            whose parameters this run begins with where path and shape are equal; the folder of a
            variant stands for its run with the same seed. None: all parameters are drawn.
    """

    task: Task
    model: Model
    objective: Objective = field(default_factory=CrossEntropy)
    optimizer: Optimizer = field(default_factory=Adam)
    training: Training = field(default_factory=Training)
    search: Search = field(default_factory=Beam)
    metric: Metric | None = None
    measures: tuple[Measure, ...] = ()
    unknown: Replacement | None = None
    initial_parameters_from: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def recipe(self) -> Recipe:
        """The fields that training needs."""
        return Recipe(
            model=self.model,
            objective=self.objective,
            optimizer=self.optimizer,
            training=self.training,
        )

    def of_seed(self, seed: int) -> "Experiment":
        """Return the experiment of the run of a seed, see `Task.of_seed`."""
        return replace(self, task=self.task.of_seed(seed))

    def resolve(self, corpus: Corpus) -> "Experiment":
        """Fill in the vocabularies' sizes and the default metric.

        Raises:
            UserError: a sentence is longer than the model allows, the model does not accept such
                data, the objective or the search does not fit the model, or there is a metric and
                nothing is decoded.
        """
        nothing = f"scores answers, and nothing of {type(self.task).__name__} is decoded: remove"
        if self.metric is not None and self.task.answers is None:
            raise UserError(
                f"the metric {type(self.metric).__name__} {nothing} the metric, and give a measure"
            )
        if self.training.scoring is not None and self.task.answers is None:
            raise UserError(f"training.scoring {nothing} it")
        for split, examples in corpus.splits.items():
            where = f"of the {split} split"
            for side, vocabulary in zip(SIDES, corpus.vocabularies, strict=True):
                if vocabulary is not None:
                    self.model.check_lengths(getattr(examples, side).lengths, where, side)
            check_places(self.task, self.model, examples)
            self.model.check_examples(examples, where)
        resolved = self.with_vocabularies(corpus.vocabularies)
        model = resolved.model
        model.check_vocabularies(corpus.vocabularies)
        self.objective.check(model)
        if isinstance(model, SequenceModel):
            self.search.check(model)
        elif resolved.metric is not None:
            raise UserError(
                f"the metric {type(resolved.metric).__name__} scores answers, and a "
                f"{type(model).__name__} cannot be searched for any: it is no SequenceModel"
            )
        return resolved

    def with_vocabularies(self, vocabularies: Vocabularies) -> "Experiment":
        """Fill in vocabulary sizes and the default metric."""
        model = self.model.with_vocabularies(*vocabularies.sizes)
        return replace(self, model=model, metric=self.metric or self._default(vocabularies))

    def _default(self, vocabularies: Vocabularies) -> Metric | None:
        """Return the default metric for the task's kind of answers; None: nothing is decoded."""
        if self.task.answers is None or vocabularies.target is None:
            return None
        if self.task.answers == "exact":
            return ExactMatch()
        if isinstance(vocabularies.target, WordVocabulary):
            return Bleu(tokenize="none", smooth="none")
        return Bleu()

    @property
    def keys(self) -> tuple[MetricKey, ...]:
        """The keys of all numbers that a run measures; the experiment is a resolved one."""
        keys = [key for measure in self.measures for key in measure.keys(self.metric)]
        if self.metric is None:
            return tuple(keys)
        unreplaced = [] if self.unknown is None else [before_replacement(self.metric)]
        return (self.metric.key, *unreplaced, *keys)

    def answers(
        self, params: Any, sources: Sequence[list[int] | np.ndarray], *, extra: int = EXTRA
    ) -> list[list[int]]:
        """Search for the best answer to each encoded source, see `hypotheses`."""
        return [best.tokens[0].tolist() for best in self.hypotheses(params, sources, extra=extra)]

    def hypotheses(
        self,
        params: Any,
        sources: Sequence[list[int] | np.ndarray],
        *,
        extra: int = EXTRA,
        numbers: Sequence[int] | None = None,
    ) -> list[Hypotheses]:
        """Search for hypotheses for each encoded source; the experiment must be resolved."""
        return hypotheses(
            self.model,
            params,
            sources,
            search=self.search,
            batching=self.training.batching,
            extra=extra,
            numbers=numbers,
        )

    def texts(
        self,
        params: Any,
        vocabularies: Vocabularies,
        written: Sequence[str],
        sources: Sequence[list[int] | np.ndarray],
        answers: Sequence[list[int]],
    ) -> list[str]:
        """Decode answers to text; unknown words are replaced if there is a `Replacement`.

        Only that needs the sources, as text (`written`) and encoded.

        Raises:
            UserError: the task's targets are not text.
        """
        source, target = vocabularies
        if target is None:
            raise UserError("answers cannot be given as text: the task's targets are not text")
        if self.unknown is None or source is None:
            return [target.decode(answer) for answer in answers]
        return replace_unknown(
            self.model,
            params,
            words=[self.task.words(text, source) for text in written],
            sources=sources,
            answers=answers,
            vocabulary=target,
            replacement=self.unknown,
            batching=self.training.batching,
        )


def check_places(task: Task, model: Model, examples: Examples) -> None:
    """Refuse a task that asks for labels at places, and a model that does not give any."""
    if not examples or examples.ask_at_places == model.gives_labels:
        return
    asks, gives = type(task).__name__, type(model).__name__
    if examples.ask_at_places:
        raise UserError(
            f"a {asks} asks for labels at places of a source, and a {gives} gives none: choose a "
            "Labeler"
        )
    raise UserError(
        f"a {gives} gives labels at places of a source, and a {asks} asks for none: choose a task "
        "of LabeledPlaces"
    )


def training_of(experiment: Experiment) -> Experiment:
    """Return what the training of an experiment depends on; the other fields have their defaults.

    Runs of experiments of which this is equal have the same training, if their seed is the same.
    A training that scores answers depends on all fields.
    """
    if experiment.training.scoring:
        return experiment
    trained = [part.name for part in fields(experiment) if part.name not in AFTER_TRAINING]
    return Experiment(**{name: getattr(experiment, name) for name in trained})
