"""`attnjax record`."""

import datetime
from pathlib import Path
from typing import Annotated

from attnjax.cli.command import ExperimentFolder, Trust, option
from attnjax.cli.output import say
from attnjax.errors import UserError


def record(
    runs: ExperimentFolder,
    *,
    to: Annotated[Path, option("the folder of records", "FOLDER")] = Path("records"),
    trust: Trust = False,
) -> None:
    """Write a small file of each finished run, for the page of results."""
    from attnjax.results import record as records
    from attnjax.results.summary import experiments, reload
    from attnjax.results.tuning import TIED
    from attnjax.runs.result import RESULT

    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    for folder in experiments(runs):
        loaded = reload(folder, trust=trust)
        paths = (*folder.glob(f"*/seed-*/{RESULT}"), *folder.glob(f"*/{TIED}/*/seed-*/{RESULT}"))
        finished = [path.parent for path in sorted(paths)]
        written = [
            path
            for run in finished
            if (path := records.write(records.record(run, loaded, now), to)) is not None
        ]
        if not finished:
            raise UserError(f"{folder} holds no finished runs")
        old = len(finished) - len(written)
        say(
            f"{loaded.name}: {len(written)} records in {to}"
            + (f"; {old} were there" if old else "")
        )
