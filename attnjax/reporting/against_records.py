"""Runs beside the records of the same settings, data and seed: what of them comes out again."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from attnjax.evaluation.measurement import Measurement, MetricKey
from attnjax.experiment.load import ExperimentFile
from attnjax.reporting import evidence as say
from attnjax.reporting.number import number
from attnjax.results.judging import judge
from attnjax.results.read import read_file
from attnjax.results.record import Record
from attnjax.results.summary import ClaimRow, Judged


class Match(NamedTuple):
    """A run and the record of its key, seed and values."""

    run: Record
    record: Record


class Again(NamedTuple):
    """A number of a run, and what its record has of it."""

    pair: Match
    key: MetricKey
    here: float
    recorded: float

    @property
    def equal(self) -> bool:
        """Whether the numbers are equal to the bit; those that are not finite are no numbers."""
        return self.here == self.recorded or (math.isnan(self.here) and math.isnan(self.recorded))

    @property
    def difference(self) -> float:
        """The difference as a share of the larger number; infinity: one of both is not finite."""
        size = abs(self.here - self.recorded)
        return size / max(abs(self.here), abs(self.recorded)) if math.isfinite(size) else math.inf


def against_records(
    loaded: ExperimentFile, runs: Sequence[Record], records: Sequence[Record]
) -> Iterator[str]:
    """Yield what runs have of records, in lines: their numbers, then each claim's verdict.

    A run is compared with the record of its key, seed and tied values; of several, with one of its
    kind of machine. Verdicts are those of all records of the experiment.
    """
    finished = [run for run in runs if run.stage != "tuning"]
    paired = [pair for run in finished if (pair := _paired(run, records)) is not None]
    if alone := len(finished) - len(paired):
        yield f"{alone} of {len(finished)} runs have no record of their settings, data and seed"
    if not paired:
        return
    numbers = [again for pair in paired for again in _numbers(pair)]
    yield _equal(numbers)
    for pair in paired:
        if pair.run.tuned != pair.record.tuned:
            yield (
                f"{_name(pair.run)} was tuned to {_values(pair.run)}, its record to "
                f"{_values(pair.record)}"
            )
    of_experiment = [
        record
        for record in records
        if (record.experiment, record.setting) == (loaded.name, loaded.setting)
    ]
    recorded = judge(loaded, of_experiment).judged
    for here, there in zip(judge(loaded, finished).judged, recorded, strict=True):
        yield f"{here.text}: {_verdicts(here, there)}"


def in_short(loaded: ExperimentFile, runs: Sequence[Record], folder: Path) -> Iterator[str]:
    """Yield how many numbers and verdicts of runs are those of their records in a folder.

    Nothing is yielded if there are none. Only files of the runs' keys are read.

    Raises:
        UserError: one of them is damaged.
    """
    finished = [run for run in runs if run.stage != "tuning"]
    keys = dict.fromkeys(run.key for run in finished)
    files = [path for key in keys for path in sorted(folder.glob(f"*/*/{key}-*.json"))]
    records = [read_file(path) for path in files]
    paired = [pair for run in finished if (pair := _paired(run, records)) is not None]
    if not paired:
        return
    numbers = [again for pair in paired for again in _numbers(pair)]
    yield f"beside the records in {folder}: {_equal(numbers)}"
    own = [replace(pair.record, variant=pair.run.variant) for pair in paired]
    here, there = judge(loaded, [pair.run for pair in paired]), judge(loaded, own)
    pairs = zip(here.judged, there.judged, strict=True)
    alike = [_verdict(ours) == _verdict(theirs) for ours, theirs in pairs if ours.rows]
    if alike:
        yield f"{sum(alike)} of {len(alike)} verdicts are as recorded"


def _verdict(claim: Judged) -> str:
    """Return the first verdict on a claim; "": it has none."""
    return next((row.verdict for row in claim.rows.values()), "")


def _paired(run: Record, records: Sequence[Record]) -> Match | None:
    """Return a run with its record; None: it has none."""
    place = run.key, run.seed, run.tied_values
    same = [made for made in records if (made.key, made.seed, made.tied_values) == place]
    same.sort(key=lambda record: record.kind != run.kind)
    return Match(run, same[0]) if same else None


def _numbers(pair: Match) -> Iterator[Again]:
    """Yield the numbers that both the run and the record have."""
    recorded = {item.key: item.value for item in map(Measurement.of, pair.record.metrics)}
    for item in map(Measurement.of, pair.run.metrics):
        if item.key in recorded:
            yield Again(pair, item.key, item.value, recorded[item.key])


def _equal(numbers: Sequence[Again]) -> str:
    """Say how many numbers are equal, and where the largest difference is."""
    equal = sum(again.equal for again in numbers)
    sentence = f"{equal} of {len(numbers)} numbers are equal to the bit"
    if equal == len(numbers):
        return sentence
    far = max((again for again in numbers if not again.equal), key=lambda again: again.difference)
    run, record = far.pair
    return (
        f"{sentence}; the largest difference is {100 * far.difference:.3g} %, of {far.key} of "
        f"{_name(run)}: {number(far.here)} here on {run.kind}, {number(far.recorded)} recorded on "
        f"{record.kind}"
    )


def _name(run: Record) -> str:
    return f"{run.variant}/seed-{run.seed}"


def _values(record: Record) -> str:
    return ", ".join(f"{path}={value}" for path, value in record.tuned.items()) or "nothing"


def _verdicts(here: Judged, there: Judged) -> str:
    """Say whether a verdict is as recorded, else both with their intervals and machines."""
    if not here.rows:
        return here.reason
    ((kind, ours), *_) = here.rows.items()
    if not there.rows:
        return f"{_evidence(ours, kind)} here; not recorded"
    other = kind if kind in there.rows else next(iter(there.rows))
    theirs = there.rows[other]
    both = f"{_evidence(ours, kind)} here; {_evidence(theirs, other)} recorded"
    if ours.verdict != theirs.verdict:
        return f"not as recorded: {both}"
    if (ours.estimate, ours.low, ours.high) != (theirs.estimate, theirs.low, theirs.high):
        return f"the verdict is as recorded, with other numbers: {both}"
    return f"as recorded: {ours.verdict}"


def _evidence(row: ClaimRow, kind: str) -> str:
    return f"{row.verdict}, {say.effect(row)} ({say.ends(row)}) on {kind or 'several machines'}"
