"""Which records count for an experiment file as it is now."""

from collections.abc import Sequence

from attnjax.experiment.ablation import Ablation
from attnjax.experiment.design import tuning_digest
from attnjax.experiment.load import ExperimentFile
from attnjax.experiment.tuning import extended
from attnjax.lab.results.read import settings_digest
from attnjax.lab.results.record import Record


def fitting(loaded: ExperimentFile, records: Sequence[Record]) -> list[Record]:
    """Return the records that count, without those that tune.

    A run's folder says in what the run differs from the experiment file, so a run counts with other
    settings, too. A record's file does not: it counts if it is of the file's settings and grid, and
    of the latest data of its task. A run counts before the record of its seed on its kind of
    machine.
    """
    ablation = loaded.ablation
    tuned = tuple(ablation.tune)
    wanted = {name: settings_digest(own, tuned) for name, own in loaded.settings.items()}
    of_file = [
        record
        for record in records
        if record.stage != "tuning"
        and record.variant in wanted
        and (
            record.run is not None
            or (wanted[record.variant] == record.settings and tuned_over(ablation, record))
        )
    ]
    counted: dict[tuple[object, ...], Record] = {}
    for record in _of_latest_data(of_file, wanted, ablation):
        place = record.kind, record.variant, record.tied_values, record.seed
        # of two records of a seed that draws its data, and whose data differ, the later one counts
        if place not in counted or counted[place].run is None or record.run is not None:
            counted[place] = record
    return [*counted.values()]


def tuned_over(ablation: Ablation, record: Record) -> bool:
    """Return whether tuning over the grid may have chosen, or tied, a record's values.

    A record that does not have the digest of its grid was made before records had one. One that was
    not tuned has no values.
    """
    if not record.tuned:
        return True
    if record.grid not in (None, tuning_digest(ablation)):
        return False
    grid = ablation.tune
    ends = [
        extended(grid, {path: end(values) for path, values in grid.items()}) for end in (min, max)
    ]
    return all(any(record.tuned.get(path) in longer[path] for longer in ends) for path in grid)


def _of_latest_data(
    records: Sequence[Record], wanted: dict[str, str], ablation: Ablation
) -> list[Record]:
    """Return the runs, and the records whose data are those of a run, or of the latest record.

    Data that each seed draws are not compared, nor what is not recorded.
    """
    tasks = {record.variant: ablation.variants[record.variant].task for record in records}
    latest = {
        tasks[record.variant]: record.data
        for record in sorted(records, key=lambda record: record.run is not None)
        if record.data and wanted[record.variant] == record.settings
    }
    return [
        record
        for record in records
        if record.run is not None
        or (task := tasks[record.variant]).of_seed(0) != task
        or all(
            latest.get(task, {}).get(split, digest) == digest
            for split, digest in record.data.items()
        )
    ]
