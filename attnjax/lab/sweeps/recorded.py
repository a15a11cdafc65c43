"""What records stand in for in a sweep, and why others do not, in sentences."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from attnjax.experiment.tuning import in_words
from attnjax.lab.results.stand_in import listed, recorded_by
from attnjax.lab.sweeps.plan import PlannedVariant


def of_records(variant: PlannedVariant) -> Iterator[str]:
    """Yield which runs of a variant are recorded, and why records of others are not taken."""
    plan, runs = variant.plan, variant.judged
    left = [run for run in runs if plan.result(run) is None]
    taken = [record for run in left if (record := plan.record(run)) is not None]
    if taken:
        tuned = in_words([*taken[0].tuned.values()])
        to = f", tuned to {tuned}" if tuned else ""
        yield f"{len(taken)} of {len(runs)} runs recorded, by {recorded_by(taken)}{to}"
    if plan.records and len(taken) < len(left) and (reason := _not_taken(variant, bool(taken))):
        yield reason


def together(variants: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Yield each sentence on variants once, after the names that have it; many are counted."""
    alike = defaultdict[str, list[str]](list)
    for name, sentences in variants:
        for sentence in sentences:
            alike[sentence].append(name)
    for sentence, names in alike.items():
        yield f"{listed(names, ', ')}: {sentence}"


def _not_taken(variant: PlannedVariant, some: bool) -> str:
    """Return why records do not stand in for runs of a variant."""
    plan, name = variant.plan, variant.name
    if some or not any(record.variant == name for record in plan.stand_ins.records):
        none = "the other runs have no record" if some else "no record has its settings and data"
        return plan.stand_ins.reasons.get(name) or none
    if variant.experiment != plan.loaded.ablation.variants[name]:
        return "records are not taken: they are of other settings than the command line's"
    if not variant.choice or variant.tuning:
        return "records are not taken: they are of other values than it is tuned to here"
    return "records are not taken: other runs begin with the parameters of its runs"
