"""`attnjax results`."""

import json
from itertools import groupby
from pathlib import Path
from typing import Annotated

from attnjax.cli.command import option, positional
from attnjax.cli.named_file import check_named, write_named
from attnjax.cli.output import say
from attnjax.errors import UserError
from attnjax.runs.catalog import find, names


def results(
    records: Annotated[Path, positional("RECORDS", "the folder of records")] = Path("records"),
    *,
    page: Annotated[Path, option("the page to write", "FILE")] = Path("docs/results.md"),
    readme: Annotated[
        Path | None, option("a page with marks for the numbers of verdicts", "FILE")
    ] = None,
    reruns: Annotated[
        Path | None, option("the times of reruns that `attnjax list` shows", "FILE")
    ] = None,
) -> None:
    """Judge the claims of all recorded experiments, and write the page of results."""
    from attnjax.experiment.load import load
    from attnjax.results import results_page
    from attnjax.results.records import read_records, recorded
    from attnjax.results.rerun import rerun_times

    def where(record):  # the order of the page: that of the shipped experiments
        return order.get(record.experiment, len(order)), record.experiment, record.setting or ""

    for named in filter(None, (page, readme, reruns)):
        check_named(named)
    text = None if readme is None else _text(readme)
    order = {name: place for place, name in enumerate(names())}
    experiments = [
        recorded(load(find(name)).at(setting or None), [*group])
        for (_, name, setting), group in groupby(sorted(read_records(records), key=where), where)
    ]
    command = f"attnjax results {records}"
    filled = None if text is None else results_page.in_readme(text, experiments)
    write_named(page, results_page.page(experiments, command))
    if readme is not None and filled is not None:
        write_named(readme, filled)
    if reruns is not None:
        write_named(reruns, f"{json.dumps(rerun_times(experiments), indent=2)}\n")
    say(results_page.tally(experiments))
    say(f"page: {page}")


def _text(page: Path) -> str:
    """Return the text of a page whose marks are to be filled."""
    try:
        return page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{page} cannot be read: {error}") from error
