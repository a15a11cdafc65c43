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
    from attnjax.runs.data_digests import check_alike
    from attnjax.runs.result import RESULT

    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    for folder in experiments(runs):
        loaded = reload(folder, trust=trust)
        paths = (*folder.glob(f"*/seed-*/{RESULT}"), *folder.glob(f"*/{TIED}/*/seed-*/{RESULT}"))
        finished = [path.parent for path in sorted(paths)]
        if not finished:
            raise UserError(f"{folder} holds no finished runs")
        check_alike(finished)
        written = [records.write(records.record(run, loaded, now), to) for run in finished]
        old = written.count(None)
        present = f"; {old} were there" if old else ""
        say(f"{loaded.name}: {len(written) - old} records in {to}{present}")
