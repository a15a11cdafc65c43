"""Which runs count together where kinds of machines, or tuned values, have some each.

Rounding differs between machines and moves verdicts, and a run at other values is another run. So
a kind of machine that has all planned seeds is judged by its own. If none has, the seeds of all
count together, one run a seed; but never seeds of a variant that were tuned to other values.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attnjax.experiment.ablation import Ablation
from attnjax.lab.results.variants import Measured, Variant

type Place = tuple[str, tuple[float, ...]]
"""A variant, and values that are tied with the chosen ones; (): the chosen ones."""

ALL = ""
"""The name of all kinds of machines together."""


def by_machine(
    variants: Mapping[str, Variant], complete: bool, ablation: Ablation
) -> dict[str, dict[Place, dict[int, Measured]]]:
    """Return the runs of each kind of machine that has all planned seeds, else of all.

    They are given by place and seed. If variants of a claim are absent, not `complete`, no kind has
    all.
    """
    kinds = _whole(variants.values(), ablation) if complete else []
    return {
        kind: {
            place: runs
            for name, variant in variants.items()
            for place, runs in _places(name, variant, kind, ablation).items()
        }
        for kind in kinds or [ALL]
    }


def in_rows(variants: Mapping[str, Variant], ablation: Ablation) -> dict[str, list[Measured]]:
    """Return the runs that a row has of each variant, one a seed and all at the same values.

    They are of one kind of machine that has all planned seeds, the one that has those of the most
    variants; else of all kinds.
    """
    whole = {name: _whole([variant], ablation) for name, variant in variants.items()}
    counts = Counter(kind for kinds in whole.values() for kind in kinds)
    chosen = {
        name: max(kinds, key=counts.__getitem__, default=ALL) for name, kinds in whole.items()
    }
    return {
        name: [*_places(name, variant, chosen[name], ablation)[name, ()].values()]
        for name, variant in variants.items()
    }


def _whole(variants: Iterable[Variant], ablation: Ablation) -> list[str]:
    """Return the kinds of machines that have all planned seeds of all these variants."""
    every, planned = [*variants], {*ablation.planned_seeds}
    kinds = dict.fromkeys(run.record.kind for variant in every for run in variant.chosen)
    return [
        kind
        for kind in kinds
        if all(
            any(planned <= seeds for seeds in _seeds(of, kind, ablation).values()) for of in every
        )
    ]


def _seeds(variant: Variant, kind: str, ablation: Ablation) -> dict[tuple[Any, ...], set[int]]:
    """Return the seeds of a variant at each of the values that some were tuned to, on a kind."""
    seeds = defaultdict[tuple[Any, ...], set[int]](set)
    for run in variant.chosen:
        if kind in (run.record.kind, ALL):
            seeds[_values(run, ablation)].add(run.record.seed)
    return seeds


def _values(run: Measured, ablation: Ablation) -> tuple[Any, ...]:
    return run.record.values(tuple(ablation.tune))


def _places(
    name: str, variant: Variant, kind: str, ablation: Ablation
) -> dict[Place, dict[int, Measured]]:
    """Return a variant's runs that count with those of a kind of machine.

    The chosen ones are at the values that most planned seeds of the kind have. A kind has its own
    runs, and those of others only for seeds and tied values that it lacks; values that are tied
    with other ones than the kind's are not.
    """
    seeds, planned = _seeds(variant, kind, ablation), {*ablation.planned_seeds}
    values = max(seeds, key=lambda values: len(seeds[values] & planned))
    chosen = [run for run in variant.chosen if _values(run, ablation) == values]
    others = {run.record.kind for run in variant.chosen} - {run.record.kind for run in chosen}
    places: dict[Place, dict[int, Measured]] = {(name, ()): _one_a_seed(chosen, kind)}
    for tied, runs in variant.tied.items():
        own = [run for run in runs if run.record.kind not in others]
        if tied != values and (own or not runs):
            places[name, tied] = _one_a_seed(own, kind)
    return places


def _one_a_seed(runs: Sequence[Measured], kind: str) -> dict[int, Measured]:
    """Return a run of each seed: one of this kind of machine, or the first."""
    chosen: dict[int, Measured] = {}
    for run in sorted(runs, key=lambda run: run.record.kind != kind):
        chosen.setdefault(run.record.seed, run)
    return dict(sorted(chosen.items()))
