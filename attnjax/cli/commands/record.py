"""`attnjax record`."""

import datetime
from pathlib import Path
from typing import Annotated

from attnjax.cli.command import ExperimentFolder, Trust, option
from attnjax.cli.output import say


def record(
    runs: ExperimentFolder,
    *,
    to: Annotated[Path, option("the folder of records", "FOLDER")] = Path("records"),
    trust: Trust = False,
) -> None:
    """Write a small file of each finished run, for the page of results."""
    from attnjax.results.folder import experiments, reload
    from attnjax.results.read import read_runs, recordings, write
    from attnjax.runs.data_digests import check_alike

    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    for folder in experiments(runs):
        loaded = reload(folder, trust=trust)
        made = recordings(read_runs(folder), loaded, now)
        check_alike(record.run.folder for record in made if record.run is not None)
        written = [write(record, to) for record in made]
        old = written.count(None)
        present = f"; {old} were there" if old else ""
        say(f"{loaded.name}: {len(written) - old} records in {to}{present}")
