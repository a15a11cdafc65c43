"""`attnjax results`."""

import json
from pathlib import Path
from typing import Annotated

from attnjax.errors import UserError
from attnjax.lab.cli.command import option, positional
from attnjax.lab.cli.named_file import check_named, write_named
from attnjax.lab.cli.output import say


def results(
    records: Annotated[
        Path | None,
        positional("RECORDS", "the folder of records; default: records, or those of attnjax"),
    ] = None,
    *,
    page: Annotated[
        Path | None,
        option(
            "the page to write; default: results.md, in docs where it is; the pictures of a page "
            "X.md are put into a folder X beside it",
            "FILE",
        ),
    ] = None,
    readme: Annotated[
        Path | None, option("a page with marks for the numbers of verdicts", "FILE")
    ] = None,
    reruns: Annotated[
        Path | None, option("the times of reruns that `attnjax list` shows", "FILE")
    ] = None,
) -> None:
    """Judge the claims of all recorded experiments, and write the page of results."""
    from attnjax.experiment.load import load
    from attnjax.lab.reporting import results_page
    from attnjax.lab.reporting.recorded import of_shipped
    from attnjax.lab.reporting.rerun import rerun_times
    from attnjax.lab.reporting.tally import tally
    from attnjax.lab.results.lines import read_records
    from attnjax.lab.runs.catalog import find, names, shipped_records

    if page is None:
        page = Path("docs" if Path("docs").is_dir() else "", "results.md")
    if records is None and not Path("records").is_dir():
        folder, command = shipped_records(), "attnjax results"
    else:
        folder = records or Path("records")
        command = f"attnjax results {folder}"
    for named in filter(None, (page, readme, reruns)):
        check_named(named)
    text = None if readme is None else _text(readme)
    experiments = of_shipped(read_records(folder))
    files = [load(find(name)) for name in names()]
    filled = None if text is None else results_page.in_readme(text, experiments)
    drawn = results_page.draw(experiments, page.with_suffix("")) if page.suffix == ".md" else {}
    write_named(page, results_page.page(experiments, command, files, drawn))
    if readme is not None and filled is not None:
        write_named(readme, filled)
    if reruns is not None:
        write_named(reruns, f"{json.dumps(rerun_times(experiments), indent=2)}\n")
    say(tally(experiments))
    say(f"page: {page}")


def _text(page: Path) -> str:
    """Return the text of a page whose marks are to be filled."""
    try:
        return page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{page} cannot be read: {error}") from error
