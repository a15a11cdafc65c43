"""What records stand in for in a sweep, and why others do not, in sentences."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from attnjax.experiment.tuning import in_words
from attnjax.lab.results.stand_in import listed, recorded_by
from attnjax.lab.sweeps.found import Found, VariantRuns


def of_records(variant: VariantRuns, found: Found) -> Iterator[str]:
    """Yield which runs of a variant are recorded, and why records of others are not taken."""
    runs = variant.judged
    left = [run for run in runs if found.result(run) is None]
    taken = [record for run in left if (record := found.record(run)) is not None]
    if taken:
        tuned = in_words([*taken[0].tuned.values()])
        to = f", tuned to {tuned}" if tuned else ""
        yield f"{len(taken)} of {len(runs)} runs recorded, by {recorded_by(taken)}{to}"
    some_left = found.request.records and len(taken) < len(left)
    if some_left and (reason := _not_taken(variant, found, bool(taken))):
        yield reason


def together(variants: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """Yield each sentence on variants once, after the names that have it; many are counted."""
    alike = defaultdict[str, list[str]](list)
    for name, sentences in variants:
        for sentence in sentences:
            alike[sentence].append(name)
    for sentence, names in alike.items():
        yield f"{listed(names, ', ')}: {sentence}"


def _not_taken(variant: VariantRuns, found: Found, some: bool) -> str:
    """Return why records do not stand in for runs of a variant."""
    name = variant.name
    if some or not any(record.variant == name for record in found.stand_ins.records):
        none = "the other runs have no record" if some else "no record has its settings and data"
        return found.stand_ins.reasons.get(name) or none
    if variant.experiment != found.request.loaded.ablation.variants[name]:
        return "records are not taken: they are of other settings than the command line's"
    if not variant.choice or variant.tuning:
        return "records are not taken: they are of other values than it is tuned to here"
    return "records are not taken: other runs begin with the parameters of its runs"
