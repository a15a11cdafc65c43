"""The content of an experiment file: experiment, variants, claims, published figures, settings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Le

from attnjax.config.constraints import NonNegativeInt, PositiveInt, check_fields
from attnjax.config.vary import vary
from attnjax.data.corpus import Corpus, Task
from attnjax.data.vocabularies import SIDES, Side, Vocabularies
from attnjax.data.vocabulary import WordVocabulary
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import EXTRA
from attnjax.decoding.search import Search
from attnjax.errors import UserError, unknown
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.decode_corpus import answers
from attnjax.evaluation.measurement import MetricKey
from attnjax.evaluation.measures.base import Measure
from attnjax.evaluation.metric import ExactMatch, Metric
from attnjax.evaluation.unknown_words import Replacement, before_replacement, replace_unknown
from attnjax.experiment.claims import Claim
from attnjax.experiment.tuning import Grid, check_grid
from attnjax.models.base import Model, SequenceModel
from attnjax.training.objectives.base import CrossEntropy, Objective
from attnjax.training.optimizers import Adam, Optimizer
from attnjax.training.settings import Recipe, Training

MOST_SEEDS = 10_000
"""The most runs of a variant."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The whole configuration of a run except its seed.

    Attributes:
        task: the data.
        model: a module of `attnjax.models`.
        objective: the loss that training minimizes.
        optimizer: how gradients change the parameters.
        training: how long training lasts, and on which batches.
        search: how the test split is decoded.
        metric: the score of the decoded answers. None: exact match if only one answer is right, and
            BLEU for text (over the corpus' own words if it comes split into words, as in its
            published figures; over sacrebleu's tokens otherwise).
        measures: what is measured beside the metric.
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

    def resolve(self, corpus: Corpus) -> "Experiment":
        """The experiment with the vocabularies' sizes and the default metric filled in.

        Raises:
            UserError: a sentence is longer than the model allows, the model does not accept such
                data or has another vocabulary size, the objective or the search does not fit the
                model, or there is a metric and nothing is decoded.
        """
        if self.metric is not None and self.task.answers is None:
            raise UserError(
                f"the metric {type(self.metric).__name__} scores answers, and nothing of "
                f"{type(self.task).__name__} is decoded: remove the metric, and give a measure"
            )
        text: list[Side] = [
            side for side in SIDES if getattr(corpus.vocabularies, side) is not None
        ]
        for split, examples in corpus.splits.items():
            for side in text:
                symbols = [getattr(example, side) for example in examples]
                self.model.check_lengths(symbols, f"of the {split} split", side)
            self.model.check_examples(examples, f"of the {split} split")
        model = self.model.with_vocabularies(*corpus.vocabularies.sizes)
        model.check_vocabularies(corpus.vocabularies)
        self.objective.check(model)
        if isinstance(model, SequenceModel):
            self.search.check(model)
        return self.with_vocabularies(corpus.vocabularies)

    def with_vocabularies(self, vocabularies: Vocabularies) -> "Experiment":
        """The experiment with vocabulary sizes and the default metric filled in."""
        model = self.model.with_vocabularies(*vocabularies.sizes)
        return replace(self, model=model, metric=self.metric or self._default(vocabularies))

    def _default(self, vocabularies: Vocabularies) -> Metric | None:
        """The default metric for the task's kind of answers; None: nothing is decoded."""
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
        of_answers = () if self.metric is None else (self.metric.key,)
        if self.metric is not None and self.unknown is not None:
            of_answers += (before_replacement(self.metric),)
        return of_answers + tuple(
            key for measure in self.measures for key in measure.keys(self.metric)
        )

    def answers(
        self, params: Any, sources: Sequence[list[int] | np.ndarray], *, extra: int = EXTRA
    ) -> list[list[int]]:
        """The answer of the search to each source, as ids; the experiment must be resolved.

        Args:
            params: the model's parameters.
            sources: encoded sources, as in `Corpus.splits`.
            extra: how many more words than its source an answer may have.
        """
        return answers(
            self.model,
            params,
            sources,
            search=self.search,
            batching=self.training.batching,
            extra=extra,
        )

    def texts(
        self,
        params: Any,
        vocabularies: Vocabularies,
        written: Sequence[str],
        sources: Sequence[list[int] | np.ndarray],
        found: Sequence[list[int]],
    ) -> list[str]:
        """Answers as text; unknown words are replaced if the experiment has a `Replacement`.

        Args:
            params: the model's parameters.
            vocabularies: the vocabularies of source and target.
            written: the sources as text; used only to replace unknown words.
            sources: encoded sources, as in `Corpus.splits`.
            found: the answers as ids.

        Raises:
            UserError: the task's targets are not text.
        """
        source, target = vocabularies
        if target is None:
            raise UserError("answers cannot be given as text: the task's targets are not text")
        if self.unknown is None or source is None:
            return [target.decode(answer) for answer in found]
        return replace_unknown(
            self.model,
            params,
            words=[self.task.words(text, source) for text in written],
            sources=sources,
            answers=found,
            vocabulary=target,
            replacement=self.unknown,
            batching=self.training.batching,
        )


@dataclass(frozen=True, kw_only=True)
class Published:
    """A paper's own figure for one of the variants.

    Attributes:
        paper: author and year.
        table: the table or section of the paper.
        variant: our variant that the figure is compared with.
        metric: our metric that the figure is compared with.
        value: the figure.
        source: where the figure was read, quoted if short.
    """

    paper: str
    table: str
    variant: str
    metric: str | MetricKey
    value: float
    source: str = ""

    @property
    def key(self) -> MetricKey:
        """The key of the metric."""
        return MetricKey(self.metric) if isinstance(self.metric, str) else self.metric


def figures(
    paper: str, table: str, metric: str, values: Mapping[str, float], source: str = ""
) -> tuple[Published, ...]:
    """A paper's figures in one table: the value for each variant."""
    return tuple(
        Published(paper=paper, table=table, variant=name, metric=metric, value=value, source=source)
        for name, value in values.items()
    )


@dataclass(frozen=True, kw_only=True)
class Setting:
    """An ablation at another scale.

    Attributes:
        changes: changes to the base and to every variant, as `vary` takes them.
        variants: variants that only this setting has; `changes` are not applied to them.
        claims: the claims of this setting; None: those of the ablation.
        published: the published figures of this setting; None: those of the ablation.
        tune: the grid that the variants are tuned over; None: that of the ablation.
    """

    changes: Mapping[str, Any]
    variants: Mapping[str, Experiment] = field(default_factory=dict)
    claims: tuple[Claim, ...] | None = None
    published: tuple[Published, ...] | None = None
    tune: Grid | None = None


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """An experiment, its variants, and the claims that they test.

    Attributes:
        base: the reference configuration; it is run only if it is also one of `variants`.
        variants: the experiments to run, by name; the name is also that of a folder.
        seeds: the number of runs of each variant.
        first_seed: the runs have the seeds first_seed, first_seed + 1, ...
        claims: statements about the variants, judged after the runs.
        published: the papers' figures for the variants.
        settings: the same ablation at other scales, by name; "paper" is the paper's own scale.
        tune: fields and a few values of each, as {"optimizer.schedule.peak": (0.001, 0.002)}. Every
            variant is tuned over all combinations before its seeds are trained, see
            `attnjax.experiment.tuning`. Empty: the variants are not tuned.
        tune_seed: the seed of the runs that tune; it must not be one of the variants' seeds.

    Raises:
        UserError: there are no variants or fewer than one seed, a claim or figure names an unknown
            variant, a field has a value of another type, or a variant cannot be tuned over the
            grid.
    """

    base: Experiment
    variants: Mapping[str, Experiment]
    seeds: Annotated[PositiveInt, Le(MOST_SEEDS)] = 1
    first_seed: NonNegativeInt = 0
    claims: tuple[Claim, ...] = ()
    published: tuple[Published, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    tune: Grid = field(default_factory=dict)
    tune_seed: NonNegativeInt = 1_000_000

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.variants:
            raise UserError("an ablation needs at least one variant; got none")
        for name in (*self.variants, *self.settings):
            # dots before letters are refused: "result.json" and "report.html" are our own files
            if len(name) > 100 or not re.fullmatch(r"\w[\w+-]*(\.\d[\w+-]*)*", name):
                raise UserError(
                    "the name of a variant or setting is the name of a folder, of at most 100 "
                    f"letters, digits, _ - +, and . before a digit; got {name[:100]!r}"
                )
        named = {name for claim in self.claims for name in claim.estimand.variants}
        named |= {figure.variant for figure in self.published}
        for name in sorted(named):
            self.variant(name)
        check_grid(self.tune, self.base, self.variants)
        if self.first_seed <= self.tune_seed < self.first_seed + MOST_SEEDS:
            raise UserError(
                f"tune_seed must be none of the seeds {self.first_seed:,} to "
                f"{self.first_seed + MOST_SEEDS - 1:,}; got {self.tune_seed:,}"
            )
        for name in self.settings:
            try:
                self.at(name)
            except UserError as error:
                raise UserError(f"setting {name}: {error}") from error

    def variant(self, name: str) -> Experiment:
        """The variant of a name.

        Raises:
            UserError: no variant has this name; the nearest is named.
        """
        if name not in self.variants:
            raise unknown("variant", name, self.variants)
        return self.variants[name]

    def check_claims(self, name: str, experiment: Experiment) -> None:
        """Refuse a claim about a number that a variant does not measure.

        Args:
            name: the variant.
            experiment: the same, resolved.

        Raises:
            UserError: the variant gives no such number; the nearest metric that it gives is named.
        """
        for claim in self.claims:
            key, metric = claim.estimand.key, experiment.metric
            if name not in claim.estimand.variants:
                continue
            known = experiment.keys
            if claim.estimand.of_answers:
                known = () if metric is None else (metric.key,)
            if key in known:
                continue
            alike = [str(one) for one in known if one.name == key.name]
            if alike:
                problem = f"variant {name} measures {'; '.join(alike)}, but not {key}"
            else:
                problem = unknown(f"metric of variant {name}:", key.name, {k.name for k in known})
            raise UserError(f"the claim {claim.text!r} cannot be judged: {problem}")

    def at(self, setting: str) -> "Ablation":
        """The ablation in one of its settings.

        Raises:
            UserError: no setting has this name (the nearest is named), or its changes do not fit
                the variants.
        """
        if setting not in self.settings:
            raise unknown("setting", setting, self.settings)
        chosen = self.settings[setting]
        tune = self.tune if chosen.tune is None else chosen.tune
        for path in tune:
            if path in chosen.changes:
                raise UserError(f"{path} is changed, and tuned too: give the setting its own tune")
        variants = {name: vary(one, chosen.changes) for name, one in self.variants.items()}
        return Ablation(
            base=vary(self.base, chosen.changes),
            variants=variants | dict(chosen.variants),
            seeds=self.seeds,
            first_seed=self.first_seed,
            claims=self.claims if chosen.claims is None else chosen.claims,
            published=self.published if chosen.published is None else chosen.published,
            tune=tune,
            tune_seed=self.tune_seed,
        )
