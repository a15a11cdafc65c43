"""Runs compared with the records of the same settings, data and seed: numbers, then verdicts."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnjax.errors import named
from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.experiment.load import ExperimentFile
from attnjax.lab.reporting import evidence as say
from attnjax.lab.reporting.number import number
from attnjax.lab.results.judging import judge
from attnjax.lab.results.lines import records_of
from attnjax.lab.results.record import Record
from attnjax.lab.results.summary import ClaimRow, Judged, Summary


class Match(NamedTuple):
    """A run and the record of its key, seed and values."""

    run: Record
    record: Record


class Again(NamedTuple):
    """A number of a run and that of its record; None: one side does not have it."""

    pair: Match
    key: MetricKey
    here: float | None
    recorded: float | None

    @property
    def equal(self) -> bool:
        """Whether the numbers are equal to the bit; those that are not finite are no numbers."""
        if self.here is None or self.recorded is None:
            return False
        return self.here == self.recorded or (math.isnan(self.here) and math.isnan(self.recorded))

    @property
    def difference(self) -> float:
        """The difference as a share of the larger number; infinity: one of both is not finite."""
        if self.here is None or self.recorded is None:
            return math.inf
        size = abs(self.here - self.recorded)
        return size / max(abs(self.here), abs(self.recorded)) if math.isfinite(size) else math.inf


def against_records(
    loaded: ExperimentFile, runs: Sequence[Record], records: Sequence[Record]
) -> Iterator[str]:
    """Yield how runs compare with records, in lines: their numbers, then each claim's verdict.

    A run is compared with the record of its key, seed and tied values; of several, with one of its
    kind of machine. Verdicts are those of all runs, and of all records of the experiment.
    """
    finished = [run for run in runs if run.stage != "tuning"]
    paired = _pairs(finished, records)
    yield from _without_record(finished, paired)
    if not paired:
        return
    yield from _numbers(loaded, paired)
    for run, record in paired:
        if run.tuned != record.tuned:
            yield f"{_name(run)} was tuned to {_values(run)}, its record to {_values(record)}"
    recorded = judge(loaded, _of_experiment(loaded, records)).judged
    for here, there in zip(judge(loaded, finished).judged, recorded, strict=True):
        yield f"{here.text}: {_verdicts(here, there)}"


def in_short(
    loaded: ExperimentFile, runs: Sequence[Record], printed: Summary, folders: Sequence[Path]
) -> Iterator[str]:
    """Yield how the numbers of runs, and the printed verdicts, compare with records in folders.

    Nothing is yielded if the runs have no records. Only records of the runs' keys are read.

    Raises:
        UserError: one of them is damaged.
    """
    finished = [run for run in runs if run.stage != "tuning"]
    variants = {run.key: run.variant for run in finished}
    records = [record for folder in folders for record in records_of(folder, variants)]
    paired = _pairs(finished, records)
    if not paired:
        return
    yield f"compared with the records in {' and '.join(map(str, folders))}:"
    yield from _without_record(finished, paired)
    yield from _numbers(loaded, paired)
    own = [replace(record, variant=variants[record.key]) for record in records]
    both = [*zip(printed.judged, judge(loaded, own).judged, strict=True)]
    known = [(ours, theirs) for ours, theirs in both if _judged(theirs)]
    other = [(ours, theirs) for ours, theirs in known if not _as_recorded(ours, theirs)]
    if known:
        yield f"{len(known) - len(other)} of {len(known)} verdicts are as recorded"
    for ours, theirs in other:
        here = _in_words(ours) or ours.reason
        yield f"not as recorded: {ours.text}: {here} here, {_in_words(theirs)} recorded"


def _of_experiment(loaded: ExperimentFile, records: Sequence[Record]) -> list[Record]:
    """Return the records of an experiment, in the setting that it is in."""
    place = loaded.name, loaded.setting
    return [record for record in records if (record.experiment, record.setting) == place]


def _without_record(runs: Sequence[Record], paired: Sequence[Match]) -> Iterator[str]:
    """Say how many runs have no record, and at which tied values these are."""
    known = {id(pair.run) for pair in paired}
    alone = [run for run in runs if id(run) not in known]
    if not alone:
        return
    tied = [run for run in alone if run.tied]
    where = named(dict.fromkeys(f"{run.variant} at {_values(run)}" for run in tied))
    which = f"; {len(tied)} of these are at tied values: {where}" if tied else ""
    yield f"{len(alone)} of {len(runs)} runs have no record of their settings, data and seed{which}"


def _pairs(runs: Sequence[Record], records: Sequence[Record]) -> list[Match]:
    """Return the runs that have a record, with it."""
    places = defaultdict[object, list[Record]](list)
    for record in records:
        places[record.key, record.seed, record.tied_values].append(record)
    pairs = []
    for run in runs:
        if same := places[run.key, run.seed, run.tied_values]:
            pairs.append(Match(run, min(same, key=lambda record: record.kind != run.kind)))
    return pairs


def _numbers(loaded: ExperimentFile, paired: Sequence[Match]) -> Iterator[str]:
    """Compare numbers to the bit on the same kind of machine, and means between kinds."""
    alike = [pair for pair in paired if pair.run.kind == pair.record.kind]
    if alike:
        yield _equal([again for pair in alike for again in _again(pair)])
    for kind in dict.fromkeys(pair.record.kind for pair in paired if pair not in alike):
        yield _on_another(kind, loaded, [pair for pair in paired if pair.record.kind == kind])


def _again(pair: Match) -> Iterator[Again]:
    """Yield the numbers that the run or the record has."""
    here, recorded = (_measured(side) for side in pair)
    for key in {**here, **recorded}:
        yield Again(pair, key, here.get(key), recorded.get(key))


def _measured(record: Record) -> dict[MetricKey, float]:
    return {item.key: item.value for item in map(Measurement.of, record.metrics)}


def _equal(numbers: Sequence[Again]) -> str:
    """Say how many numbers are equal, where the largest difference is, and what may explain it."""
    equal = sum(again.equal for again in numbers)
    sentence = f"{equal} of {len(numbers)} numbers are equal to the bit"
    if equal == len(numbers):
        return sentence
    far = max((again for again in numbers if not again.equal), key=lambda again: again.difference)
    run, record = far.pair
    here, recorded = (
        "missing" if value is None else number(value) for value in (far.here, far.recorded)
    )
    where = f"of {far.key} of {_name(run)}: {here} here, {recorded} recorded"
    if math.isfinite(far.difference):
        where = f"{100 * far.difference:.3g} %, {where}"
    return f"{sentence}; the largest difference is {where}{_made_otherwise(run, record)}"


def _made_otherwise(run: Record, record: Record) -> str:
    """Say what a run and its record, of one kind of machine, do not have in common."""
    reasons = []
    if run.commit != record.commit:
        reasons.append(f"of the sources of commit {record.commit}")
    if run.machine and record.machine and run.machine.processor != record.machine.processor:
        reasons.append(f"of another processor, {record.machine.processor or 'unknown'}")
    reasons += [
        f"of {package} {version}"
        for package, version in record.versions.items()
        if package not in ("attnjax", "python") and run.versions.get(package) != version
    ]
    return f" (the record is {', '.join(reasons)})" if reasons else ""


def _on_another(kind: str, loaded: ExperimentFile, paired: Sequence[Match]) -> str:
    """Say how far means over seeds differ from those of another kind of machine."""
    variants = dict.fromkeys(pair.run.variant for pair in paired)
    known = {name: found for name in variants if (found := _means(name, loaded, paired))}
    words = []
    if known:
        far = max(known, key=lambda name: known[name][1])
        key, most = known[far]
        words.append(f"means over seeds differ by at most {number(most, 2)}, in {key} ({far})")
    other = {pair.run.variant for pair in paired if pair.run.tuned != pair.record.tuned}
    if other:
        were = "1 variant was" if len(other) == 1 else f"{len(other)} variants were"
        words.append(f"{were} tuned to another value")
    said = "; ".join(words) or "no number is in both"
    return f"on another kind of machine, {kind}: {said}"


def _means(
    variant: str, loaded: ExperimentFile, paired: Sequence[Match]
) -> tuple[MetricKey, float] | None:
    """Return the number that scores a variant, and how far its means differ; None: it has none."""
    sides = [
        (_measured(pair.run), _measured(pair.record))
        for pair in paired
        if pair.run.variant == variant and not pair.run.tied
    ]
    metric = loaded.ablation.variant(variant).metric
    key = metric.key if metric else next((key for here, _ in sides for key in here), None)
    both = [(here[key], there[key]) for here, there in sides if key in here and key in there]
    if key is None or not both:
        return None
    here, recorded = np.mean(both, axis=0)
    return key, abs(float(here - recorded))


def _name(run: Record) -> str:
    return f"{run.variant}/seed-{run.seed}"


def _values(record: Record) -> str:
    return ", ".join(f"{path}={value}" for path, value in record.tuned.items()) or "nothing"


def _judged(claim: Judged) -> bool:
    """Return whether some kind of machine has a verdict on a claim."""
    return any(row.verdict != "not judged yet" for row in claim.rows.values())


def _as_recorded(here: Judged, there: Judged) -> bool:
    """Return whether each verdict is that of its kind of machine, or else of all recorded ones."""
    return bool(here.rows) and all(
        row.verdict == other.verdict
        for kind, row in here.rows.items()
        for other in ([there.rows[kind]] if kind in there.rows else there.rows.values())
    )


def _in_words(claim: Judged) -> str:
    """Return the verdicts on a claim, with their kinds of machines if they differ."""
    verdicts = dict.fromkeys(row.verdict for row in claim.rows.values())
    if len(verdicts) < 2:
        return "".join(verdicts)
    return named([f"{row.verdict} on {kind}" for kind, row in claim.rows.items()])


def _verdicts(here: Judged, there: Judged) -> str:
    """Say whether a claim's verdicts are as recorded, else all with intervals and machines."""
    if not here.rows:
        return here.reason
    ours = named([_evidence(row, kind) for kind, row in here.rows.items()])
    if not there.rows:
        return f"{ours} here; not recorded"
    both = f"{ours} here; {named([_evidence(row, kind) for kind, row in there.rows.items()])}"
    if not _as_recorded(here, there):
        return f"not as recorded: {both} recorded"
    numbers = {(row.estimate, row.low, row.high) for row in there.rows.values()}
    if {(row.estimate, row.low, row.high) for row in here.rows.values()} <= numbers:
        return f"as recorded: {_in_words(here)}"
    return f"the verdict is as recorded, with other numbers: {both} recorded"


def _evidence(row: ClaimRow, kind: str) -> str:
    return f"{row.verdict}, {say.effect(row)} ({say.ends(row)}) on {kind or 'several machines'}"
