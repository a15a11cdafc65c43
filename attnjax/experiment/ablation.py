"""An ablation: an experiment, its variants, claims, published figures and settings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Annotated, Any

from annotated_types import Le

from attnjax.config.constraints import NonNegativeInt, PositiveInt, check_fields
from attnjax.config.vary import vary
from attnjax.errors import UserError, unknown
from attnjax.evaluation.measurement import MetricKey
from attnjax.experiment.claims import Claim, Verdict
from attnjax.experiment.crossing import Crossing
from attnjax.experiment.estimands import Difference, Results, Value
from attnjax.experiment.experiment import Experiment, training_of
from attnjax.experiment.looks import Looks
from attnjax.experiment.numbers import directions
from attnjax.experiment.ties import Tied, at_ties
from attnjax.experiment.tuning import Grid, check_grid

MOST_SEEDS = 10_000
"""The most runs of a variant."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A paper's own figure for one of the variants.

    Attributes:
        paper: author and year.
        table: the table or section of the paper.
        source: where the figure was read, quoted if short.
        why_not: why it cannot be compared with ours, which is then not set beside it; "": it can.
    """

    paper: str
    table: str
    variant: str
    metric: str | MetricKey
    value: float
    source: str = ""
    why_not: str = ""

    @property
    def key(self) -> MetricKey:
        """The key of the metric."""
        return MetricKey(self.metric) if isinstance(self.metric, str) else self.metric


def figures(
    paper: str,
    table: str,
    metric: str,
    values: Mapping[str, float],
    source: str = "",
    why_not: str = "",
) -> tuple[Published, ...]:
    """Return a paper's figures in one table: the value for each variant."""
    one_of = partial(
        Published, paper=paper, table=table, metric=metric, source=source, why_not=why_not
    )
    return tuple(one_of(variant=name, value=value) for name, value in values.items())


@dataclass(frozen=True, kw_only=True)
class Setting:
    """An ablation at another scale.

    Attributes:
        changes: changes to the base and to every variant, as `vary` takes them.
        variants: variants that only this setting has; `changes` are not applied to them.
        claims: of this setting alone; a region for one scale says nothing about another.
        published: None: the figures of the ablation.
        tune: None: the grid of the ablation.
        differs: what differs from the paper: its way, then ours.
    """

    changes: Mapping[str, Any]
    variants: Mapping[str, Experiment] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    published: tuple[Published, ...] | None = None
    tune: Grid | None = None
    differs: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """An experiment, its variants, and the claims that they test.

    Attributes:
        base: the reference configuration; it is run only if it is also one of `variants`.
        variants: the experiments to run, by name; the name is also that of a folder.
        seeds: the number of runs of each variant, fixed before the first: claims wait for all of
            them, and are judged by no more.
        first_seed: the runs have the seeds first_seed, first_seed + 1, ...
        looks: numbers of seeds after which claims are judged, the first of them `seeds`: a claim
            keeps the verdict of the first look that decides it. The intervals are wider, so that
            all looks together err no more often than one; (): claims are judged once.
        settings: the same ablation at other scales, by name; "paper" is the paper's own scale.
        tune: fields and a few values of each, as {"optimizer.schedule.peak": (0.001, 0.002)}. Every
            variant is tuned over all combinations before its seeds are trained, see
            `attnjax.experiment.tuning`.
        tune_seed: the first seed of the runs that tune; none of them may be a variant's seed.
        tune_seeds: the number of runs at each point of the grid.
        crossing: how the variants are crossed; None: they are not.
        given_up: statements that are not claimed, and why.
        differs: what differs from the paper: its way, then ours; that of a setting, see `at`.

    Raises:
        UserError: there are no variants, a claim or figure names an unknown variant, a claim of the
            kind "figure" has none in its region, a field has a value of another type, or a variant
            cannot be tuned over the grid.
    """

    base: Experiment
    variants: Mapping[str, Experiment]
    seeds: Annotated[PositiveInt, Le(MOST_SEEDS)] = 1
    first_seed: NonNegativeInt = 0
    looks: tuple[PositiveInt, ...] = ()
    claims: tuple[Claim, ...] = ()
    published: tuple[Published, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    tune: Grid = field(default_factory=dict)
    tune_seed: NonNegativeInt = 1_000_000
    tune_seeds: Annotated[PositiveInt, Le(MOST_SEEDS)] = 3
    crossing: Crossing | None = None
    given_up: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, tuple[str, str]] = field(default_factory=dict)

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
        self._check_looks()
        named = {name for claim in self.claims for name in claim.variants}
        named |= {figure.variant for figure in self.published}
        for name in sorted(named):
            self.variant(name)
        _check_figures(self.claims, self.published)
        if self.crossing is not None:
            self.crossing.check(self.variants)
        check_grid(self.tune, self.base, self.variants)
        last = self.first_seed + MOST_SEEDS - 1
        if self.tune and max(self.tuning_seeds) >= self.first_seed and self.tune_seed <= last:
            raise UserError(
                f"tuning must have none of the seeds {self.first_seed:,} to {last:,}; got "
                f"tune_seed={self.tune_seed:,} and tune_seeds={self.tune_seeds:,}"
            )
        for name in self.settings:
            try:
                self.at(name)
            except UserError as error:
                raise UserError(f"setting {name}: {error}") from error

    def _check_looks(self) -> None:
        if self.looks and [self.seeds, *sorted({*self.looks})] != [self.looks[0], *self.looks]:
            raise UserError(
                f"looks are growing numbers of seeds, the first of them seeds={self.seeds}; got "
                f"{self.looks}"
            )

    @property
    def planned_seeds(self) -> range:
        """The seeds that claims are judged by: neither fewer nor more than the plan."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def judge(
        self, claim: Claim, results: Results, tied: Tied = MappingProxyType({})
    ) -> Verdict | None:
        """Return the verdict on a claim by the planned seeds; None: its estimand was not measured.

        It must be the same at every combination of tied values; else it "depends on the rate".
        """
        planned = [
            range(self.first_seed, self.first_seed + seeds) for seeds in self.looks or (self.seeds,)
        ]
        looks = Looks(claim=claim, variants=self.variants, planned=planned)
        return at_ties(looks, results, tied)

    @property
    def tuning_seeds(self) -> range:
        """The seeds of the runs at each point of the grid."""
        return range(self.tune_seed, self.tune_seed + self.tune_seeds)

    def variant(self, name: str) -> Experiment:
        """Return the variant of a name.

        Raises:
            UserError: no variant has this name; the nearest is named.
        """
        if name not in self.variants:
            raise unknown("variant", name, self.variants)
        return self.variants[name]

    @cached_property
    def trained_as(self) -> Mapping[str, str]:
        """The first variant of the same training, by the name of each."""
        first = dict[Experiment, str]()
        return {name: first.setdefault(training_of(of), name) for name, of in self.variants.items()}

    def trained_alike(self, name: str) -> list[str]:
        """Return the other variants whose runs have the same training as those of a variant."""
        first = self.trained_as[name]
        return [other for other, of in self.trained_as.items() if of == first and other != name]

    def check_claims(self, name: str, experiment: Experiment) -> None:
        """Refuse a claim about a number that a variant, given resolved, does not measure.

        A claim that calls a variant the better of two, and wants it worse, is refused, too.
        """
        of_answers = () if experiment.metric is None else (experiment.metric.key,)
        for claim in self.claims:
            for estimand in claim.estimands:
                known = of_answers if estimand.of_answers else experiment.keys
                if name in estimand.variants and estimand.key not in known:
                    problem = _unmeasured(name, estimand.key, known)
                    raise UserError(f"the claim {claim.text!r} cannot be judged: {problem}")
            if isinstance(claim.estimand, Difference) and name == claim.estimand.better:
                _check_direction(claim, claim.estimand, experiment)

    def at(self, setting: str) -> "Ablation":
        """Return the ablation in one of its settings.

        Raises:
            UserError: no setting has this name (the nearest is named), or it does not fit.
        """
        if setting not in self.settings:
            raise unknown("setting", setting, self.settings)
        chosen = self.settings[setting]
        tune = self.tune if chosen.tune is None else chosen.tune
        for path in tune:
            if path in chosen.changes:
                raise UserError(f"{path} is changed, and tuned too: give the setting its own tune")
        variants = {name: vary(variant, chosen.changes) for name, variant in self.variants.items()}
        variants |= chosen.variants
        # a base that is run as a variant is that of the setting, too
        of_base = (name for name, variant in self.variants.items() if variant == self.base)
        base = next((variants[name] for name in of_base), vary(self.base, chosen.changes))
        return replace(
            self,
            base=base,
            variants=variants,
            claims=chosen.claims,
            published=self.published if chosen.published is None else chosen.published,
            settings={},
            tune=tune,
            differs=chosen.differs,
        )


def _check_figures(claims: Sequence[Claim], published: Sequence[Published]) -> None:
    """Refuse a claim on a printed figure without one in equal units, inside its region."""
    for claim in claims:
        beside = (
            figure.value
            for figure in published
            if not figure.why_not
            and isinstance(claim.estimand, Value)
            and (figure.variant, figure.key) == (claim.estimand.variant, claim.estimand.key)
        )
        if claim.kind == "figure" and not any(claim.low <= value <= claim.high for value in beside):
            raise UserError(
                f"the claim {claim.text!r} is on a printed figure: its region needs a comparable "
                "published figure of the same variant and metric"
            )


def _check_direction(claim: Claim, difference: Difference, experiment: Experiment) -> None:
    """Refuse a region of a difference in which the variant that is called better is the worse."""
    direction = directions(experiment).get(difference.key.name)
    asks = {"lower": claim.low > 0, "higher": claim.high < 0}
    if direction is not None and asks[direction]:
        side = "below" if direction == "lower" else "above"
        raise UserError(
            f"the claim {claim.text!r} calls {difference.better} the better variant, and its "
            f"region has it worse than {difference.worse}: {direction} is better in "
            f"{difference.key}, so the region wants values {side} 0; got {claim.low:g} to "
            f"{claim.high:g}"
        )


def _unmeasured(variant: str, key: MetricKey, known: Sequence[MetricKey]) -> object:
    """Say in a sentence that a variant does not measure a number, and what is nearest to it."""
    alike = [str(other) for other in known if other.name == key.name]
    if alike:
        return f"variant {variant} measures {'; '.join(alike)}, but not {key}"
    return unknown(f"metric of variant {variant}:", key.name, {other.name for other in known})
