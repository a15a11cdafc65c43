"""What an experiment file says: what is trained and how, what is varied, what is claimed."""

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
    """One training, decoding and measuring, to the last number; a seed is all that is missing.

    Attributes:
        task: what is learned.
        model: a module of `attnjax.models`.
        objective: what is minimized.
        optimizer: by what.
        training: how long, and on which batches.
        search: how the test split is decoded.
        metric: what scores the answers. None: the default for the task's answers, which is exact
            match where one answer is right, and BLEU for text (of text that comes split into words
            by these words, as its published figures are; of other text by sacrebleu's tokenizer).
        measures: what is measured beside the metric.
        unknown: what takes the place of unknown words in answers; None: they stay.
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

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def recipe(self) -> Recipe:
        """What the training needs of it."""
        return Recipe(
            model=self.model,
            objective=self.objective,
            optimizer=self.optimizer,
            training=self.training,
        )

    def resolve(self, corpus: Corpus) -> "Experiment":
        """The experiment with the vocabularies' sizes and the default metric filled in.

        Raises:
            UserError: a sentence is longer than the model has positions, the model cannot take
                such data or has the size of another vocabulary, or objective and search are not
                for such a model.
        """
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
        """The experiment with the model's sizes and the default metric for these vocabularies."""
        model = self.model.with_vocabularies(*vocabularies.sizes)
        return replace(self, model=model, metric=self.metric or self._default(vocabularies))

    def _default(self, vocabularies: Vocabularies) -> Metric | None:
        """The metric for the task's kind of answers; None: nothing is decoded."""
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

    def answers(self, params: Any, sources: Sequence[list[int] | np.ndarray]) -> list[list[int]]:
        """What the search finds for each source, as ids; the experiment is a resolved one.

        Args:
            params: the model's parameters.
            sources: as the corpus has them.
        """
        return answers(
            self.model, params, sources, search=self.search, batching=self.training.batching
        )

    def texts(
        self,
        params: Any,
        vocabularies: Vocabularies,
        written: Sequence[str],
        sources: Sequence[list[int] | np.ndarray],
        found: Sequence[list[int]],
    ) -> list[str]:
        """Answers as text, their unknown words replaced if the experiment says by what.

        Args:
            params: the model's parameters.
            vocabularies: of both sides.
            written: the sources as text; looked at only where words are replaced.
            sources: as the corpus has them.
            found: the answers to them, as ids.

        Raises:
            UserError: they are no text.
        """
        source, target = vocabularies
        if target is None:
            raise UserError("answers as text were wanted; the task's targets are no text")
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
        table: where in it.
        variant: the variant here that the figure is compared with.
        metric: the metric here that the figure is compared with.
        value: the figure.
        source: where it was read, word for word if that is short.
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
    """Another scale of the question that an ablation asks.

    Attributes:
        changes: to the base and to every variant, as `vary` takes them.
        variants: those that only this setting has, as they are.
        claims: what is claimed there; None: what the ablation claims.
        published: the paper's figures for it; None: those of the ablation.
        tune: the grid that its variants are tuned over; None: that of the ablation.
    """

    changes: Mapping[str, Any]
    variants: Mapping[str, Experiment] = field(default_factory=dict)
    claims: tuple[Claim, ...] | None = None
    published: tuple[Published, ...] | None = None
    tune: Grid | None = None


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """An experiment, its variants, and what they are said to show.

    Attributes:
        base: what the variants are variants of; run itself only if it is one of them.
        variants: each by its name, a folder's.
        seeds: how many runs of each.
        first_seed: theirs are first_seed, first_seed + 1, ...
        claims: what the paper says of them.
        published: the paper's figures for them.
        settings: other scales of the same question, by name; "paper" is the paper's own.
        tune: fields and a few values of each, as {"optimizer.schedule.peak": (0.001, 0.002)}. Every
            variant is tuned over all combinations before its seeds are trained, see
            `attnjax.experiment.tuning`. Empty: the variants are trained as they are.
        tune_seed: the seed of the runs that tune; none of `seeds`.

    Raises:
        UserError: no variants, less than one seed, a name that is none of a variant, a value of
            another type, or a grid that not every variant can be tuned over.
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
            raise UserError("an ablation has at least one variant; got none")
        for name in (*self.variants, *self.settings):
            # a dot stands before a digit only: "result.json" and "report.html" are files of ours
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
            UserError: there is none; the nearest is named.
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
        """The same ablation in another setting.

        Raises:
            UserError: there is none of that name (the nearest is named), or what it says of the
                variants does not fit them.
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
