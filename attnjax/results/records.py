"""The records of all experiments, judged by their files as they are now.

A claim is judged for each kind of machine that has all planned seeds, because rounding differs
between machines and moves verdicts. If no kind has all, the seeds of all machines count together.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from attnjax.config.serialize import to_json
from attnjax.errors import UserError, warn
from attnjax.evaluation.measurement import MetricKey
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.claims import Claim
from attnjax.experiment.design import design
from attnjax.experiment.estimands import RunMetrics
from attnjax.experiment.load import ExperimentFile, load
from attnjax.reporting.summary import ClaimRow
from attnjax.results.record import Record, read_file, settings_digest
from attnjax.results.statements import claim_row
from attnjax.runs.catalog import find, names


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim with its verdict by kind of machine, "" for all machines, or why it has none."""

    claim: Claim
    rows: Mapping[str, ClaimRow]
    missing: str = ""

    @property
    def agreed(self) -> bool:
        """Whether all machines have the same verdict."""
        return len({row.verdict for row in self.rows.values()}) == 1


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An experiment in one of its settings, with its records.

    Attributes:
        records: those of the file as it is now.
        earlier: those of the same variants with other settings, or of other data than the latest
            record of their task, and of variants that are gone.
        first: the first record of the experiment; its design is the one that was fixed first.
    """

    loaded: ExperimentFile
    records: Sequence[Record]
    earlier: Sequence[Record]
    first: Record
    judged: Sequence[Judged]

    @property
    def exploratory(self) -> bool:
        """Whether the design was changed after the first record."""
        return self.first.design != design(self.loaded.ablation, self.loaded.own)

    def mean(self, variant: str, key: MetricKey) -> float | None:
        """The mean of a metric over all seeds of a variant; None: it was not measured."""
        records = [each for each in self.records if each.variant == variant and not each.tied]
        metrics = [record.measured(self.loaded.own).metrics for record in records]
        values = [of_run[key] for of_run in metrics if key in of_run]
        return sum(values) / len(values) if values else None


def read_records(folder: Path) -> list[Record]:
    """Return all records below a folder, in the order in which they were recorded.

    The copy of a record counts once.

    Raises:
        UserError: there is none, one is damaged, or two are of the same settings, seed and machine.
    """
    kept: dict[Path, tuple[Path, Record]] = {}
    for path in sorted(folder.glob("*/*/*.json")):
        record = read_file(path)
        first, other = kept.setdefault(record.path(), (path, record))
        if other.files != record.files:
            raise UserError(
                f"{first} and {path} are the records of two runs with the same settings, seed and "
                "machine, of which one counts: leave one of them in the folder"
            )
    if not kept:
        raise UserError(f"{folder} holds no records; `attnjax record RUNS` writes them")
    return sorted((record for _, record in kept.values()), key=lambda record: record.recorded)


def of_shipped(records: Sequence[Record]) -> list[tuple[ExperimentFile, list[Record]]]:
    """Return the experiments that come with attnjax and are recorded, with their records.

    A record names its experiment, and no file of another name is executed: a warning says which
    records are left out.

    Raises:
        UserError: all are left out.
    """
    by_experiment = defaultdict[tuple[str, str], list[Record]](list)
    for record in records:
        by_experiment[record.experiment, record.setting or ""].append(record)
    known, shipped = [], names()
    for (name, setting), own in sorted(by_experiment.items()):
        loaded = load(find(name)) if name in shipped else None
        if loaded is not None and setting in ("", *loaded.ablation.settings):
            known.append((loaded.at(setting or None), own))
        else:
            called = f"{name} --setting {setting}" if setting else name
            warn(f"{called} does not come with attnjax: {len(own)} of its records are left out")
    if not known:
        raise UserError("no record is of an experiment that comes with attnjax")
    return known


def recorded(loaded: ExperimentFile, records: Sequence[Record]) -> Recorded:
    """An experiment, in the setting of these records, judged by them; the first comes first."""
    ablation, own = loaded.ablation, loaded.own
    wanted = {
        name: settings_digest(to_json(variant, own), tuple(ablation.tune))
        for name, variant in ablation.variants.items()
    }
    current = [record for record in records if wanted.get(record.variant) == record.settings]
    current = _of_latest_data(current, ablation)
    # of two records of a seed that draws its data, and whose data differ, the later one counts
    runs = {(each.kind, each.variant, each.tied_values, each.seed): each for each in current}
    current = [*runs.values()]
    by_machine: dict[str, dict[Place, dict[int, Record]]] = defaultdict(lambda: defaultdict(dict))
    for record in current:
        by_machine[record.kind][record.variant, record.tied_values][record.seed] = record
    return Recorded(
        loaded=loaded,
        records=current,
        earlier=[record for record in records if record not in current],
        first=records[0],
        judged=[_judged(claim, by_machine, ablation, own) for claim in ablation.claims],
    )


def _of_latest_data(records: Sequence[Record], ablation: Ablation) -> list[Record]:
    """The records whose data are those of the latest record of their task.

    Data that each seed draws are not compared, nor what is not recorded.
    """
    tasks = {record.variant: ablation.variants[record.variant].task for record in records}
    latest = {tasks[record.variant]: record.data for record in records if record.data}
    return [
        record
        for record in records
        if (task := tasks[record.variant]).of_seed(0) != task
        or all(latest[task].get(split, digest) == digest for split, digest in record.data.items())
    ]


type Place = tuple[str, str]
"""A variant, and its values that are tied with the chosen ones; "": the chosen ones."""

type Runs = Mapping[Place, Mapping[int, Record]]
"""The records by variant, values and seed."""


def _judged(
    claim: Claim, by_machine: Mapping[str, Runs], ablation: Ablation, own: Mapping[str, type]
) -> Judged:
    complete, rows = _complete(claim, by_machine, ablation.planned_seeds), {}
    for kind, places in complete.items():
        results, minutes = {}, {}
        tied: dict[str, dict[str, dict[int, RunMetrics]]] = defaultdict(dict)
        for (name, values), runs in places.items():
            measured = {seed: record.measured(own) for seed, record in runs.items()}
            if values:
                tied[name][values] = measured
                continue
            results[name] = measured
            minutes[name] = sum(record.minutes.run for record in runs.values()) / len(runs)
        verdict = ablation.judge(claim, results, tied)
        if verdict is not None:
            rows[kind] = claim_row(claim, verdict, minutes)
    absent = [
        name for name in claim.variants if not any((name, "") in each for each in complete.values())
    ]
    missing = f"no record of {', '.join(absent)}" if absent else "not measured"
    return Judged(claim=claim, rows=rows, missing="" if rows else missing)


def _complete(claim: Claim, by_machine: Mapping[str, Runs], planned: range) -> Mapping[str, Runs]:
    """The claim's records of each kind of machine that has all planned seeds, else of all."""
    complete = {
        kind: {place: runs for place, runs in places.items() if place[0] in claim.variants}
        for kind, places in by_machine.items()
        if all(set(planned) <= places.get((name, ""), {}).keys() for name in claim.variants)
    }
    if complete:
        return complete
    together: dict[Place, dict[int, Record]] = defaultdict(dict)
    for places in by_machine.values():
        for place, seeds in places.items():
            if place[0] in claim.variants:
                together[place] = {**seeds, **together[place]}
    return {"": together}
