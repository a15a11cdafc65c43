"""`attnjax record`."""

import datetime
from pathlib import Path
from typing import Annotated

from attnjax.lab.cli.command import ExperimentFolder, Trust, option
from attnjax.lab.cli.output import say


def record(
    runs: ExperimentFolder,
    *,
    to: Annotated[Path, option("the folder of records", "FOLDER")] = Path("records"),
    compare: Annotated[
        bool, option("compare the runs with the records that are there, and write none")
    ] = False,
    trust: Trust = False,
) -> None:
    """Write a record of each finished run, to keep, or compare with records."""
    from attnjax.lab.reporting.against_records import against_records
    from attnjax.lab.results.folder import experiments, reload
    from attnjax.lab.results.lines import read_records, write
    from attnjax.lab.results.read import read_runs, recordings
    from attnjax.lab.runs.data_digests import check_alike

    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    for folder in experiments(runs):
        loaded = reload(folder, trust=trust)
        if compare:
            for line in against_records(loaded, read_runs(folder), read_records(to)):
                say(f"{loaded.name}: {line}")
            continue
        made = recordings(read_runs(folder), loaded, now)
        check_alike(record.run.folder for record in made if record.run is not None)
        new = write(made, to)
        present = f"; {old} were there" if (old := len(made) - len(new)) else ""
        say(f"{loaded.name}: {len(new)} records in {to}{present}")
