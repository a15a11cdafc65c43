"""Shipped experiments, judged by their records."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from attnjax.errors import UserError, warn
from attnjax.experiment.design import design
from attnjax.experiment.load import ExperimentFile, load
from attnjax.lab.results.judging import judge
from attnjax.lab.results.record import Record
from attnjax.lab.results.summary import Summary
from attnjax.lab.runs.catalog import find, names


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An experiment in one of its settings, judged by its records.

    Attributes:
        records: those of the experiment, also of other settings and designs; the first come first.
    """

    loaded: ExperimentFile
    records: Sequence[Record]
    summary: Summary

    @property
    def of_another_design(self) -> Record | None:
        """The first record of a planned seed, of claims, grid or seeds that were changed since.

        None: nobody had seen a result of the planned seeds before the design was fixed.
        """
        now = design(self.loaded.ablation, self.loaded.own)
        seeds = {record.seed for record in self.summary.records}
        seeds &= {*self.loaded.ablation.planned_seeds}
        of_seeds = (record for record in self.records if record.seed in seeds)
        return next((record for record in of_seeds if record.design != now), None)

    @property
    def exploratory(self) -> bool:
        """Whether the design was changed after a result of its seeds had been seen."""
        return self.of_another_design is not None


def recorded(loaded: ExperimentFile, records: Sequence[Record]) -> Recorded:
    """Judge an experiment, in the setting of these records, by them; the first come first."""
    return Recorded(loaded=loaded, records=records, summary=judge(loaded, records))


def of_shipped(records: Sequence[Record]) -> list[Recorded]:
    """Judge the experiments that come with attnjax and are recorded.

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
            known.append(recorded(loaded.at(setting or None), own))
        else:
            called = f"{name} --setting {setting}" if setting else name
            warn(f"{called} does not come with attnjax: {len(own)} of its records are left out")
    if not known:
        raise UserError("no record is of an experiment that comes with attnjax")
    return known
