"""Rows of one's own in an ablation whose variants are crossed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.best import AboveBest
from attnjax.experiment.claims import Claim
from attnjax.experiment.crossing import Crossing
from attnjax.experiment.estimands import Difference
from attnjax.experiment.experiment import Experiment

MARGIN = 0.02
"""The smallest difference of shares that is said to be one."""


def crossed(
    columns: Mapping[str, Experiment], rows: Mapping[str, Mapping[str, Any]]
) -> dict[str, Experiment]:
    """Return the variants of a crossing: the experiments of columns, with the changes of rows."""
    return {
        Crossing.variant(row, column): vary(experiment, changes)
        for column, experiment in columns.items()
        for row, changes in rows.items()
    }


def enter(ablation: Ablation, name: str, changes: Mapping[str, Any]) -> Ablation:
    """Add a row to a crossed ablation: its first row in every column, with changes as of `vary`.

    Two claims a column stand in the place of the ablation's, of the number that decides there: the
    row is at least MARGIN above the first row, and at most MARGIN below the best of all others.
    With the records of the other rows only the new one is trained.

    Raises:
        UserError: the ablation is not crossed, or has a row or a variant of this name; the name is
            empty, or is none of a folder.
    """
    crossing = ablation.crossing
    if crossing is None:
        raise UserError("a row is entered into an ablation that has a crossing; got one without")
    if name in crossing.rows:
        raise UserError(f"the row {name!r} is there already; rows: {', '.join(crossing.rows)}")
    first = crossing.rows[0]
    added = {
        crossing.variant(name, column): vary(
            ablation.variant(crossing.variant(first, column)), changes
        )
        for column in crossing.columns
    }
    if there := [variant for variant in added if variant in ablation.variants]:
        raise UserError(f"the ablation has a variant {there[0]}: give the row another name")
    own = ablation.claims if crossing.entered else ()
    entered = replace(crossing, rows=(*crossing.rows, name), entered=(*crossing.entered, name))
    return replace(
        ablation,
        variants={**added, **ablation.variants},
        claims=(*own, *_claims(ablation, crossing, name)),
        published=(),
        settings={},
        crossing=entered,
    )


def _claims(ablation: Ablation, crossing: Crossing, name: str) -> Iterator[Claim]:
    """Yield the two claims of each column."""
    first, points = crossing.rows[0], f"{100 * MARGIN:g} points"
    for column, metrics in crossing.columns.items():
        own = crossing.variant(name, column)
        every = (crossing.variant(row, column) for row in crossing.rows)
        others = tuple(other for other in every if other in ablation.variants)
        yield Claim(
            text=f"{column}: {name} is at least {points} above {first}",
            estimand=Difference(metrics[-1], own, crossing.variant(first, column)),
            low=MARGIN,
        )
        yield Claim(
            text=f"{column}: {name} is at most {points} below the best",
            estimand=AboveBest(metrics[-1], own, others),
            low=-MARGIN,
        )
