"""`attnjax results`."""

from itertools import groupby
from pathlib import Path
from typing import Annotated

from attnjax.cli.command import option, positional
from attnjax.cli.named_file import check_named, write_named
from attnjax.cli.output import say
from attnjax.errors import UserError
from attnjax.runs.catalog import catalog, find


def results(
    records: Annotated[Path, positional("RECORDS", "the folder of records")] = Path("records"),
    *,
    page: Annotated[Path, option("the page to write", "FILE")] = Path("docs/results.md"),
    readme: Annotated[
        Path | None, option("a page with marks for the numbers of verdicts", "FILE")
    ] = None,
) -> None:
    """Judge the claims of all recorded experiments, and write the page of results."""
    from attnjax.experiment.load import load
    from attnjax.results import results_page
    from attnjax.results.records import read_records, recorded

    def where(record):  # the order of the page: that of the shipped experiments
        return order.get(record.experiment, len(order)), record.experiment, record.setting or ""

    for written in filter(None, (page, readme)):
        check_named(written)
    marked = None if readme is None else _marked(readme)
    order = {entry.name: place for place, entry in enumerate(catalog())}
    experiments = [
        recorded(load(find(name)).at(setting or None), [*group])
        for (_, name, setting), group in groupby(sorted(read_records(records), key=where), where)
    ]
    command = f"attnjax results {records}"
    sentences = results_page.tally(experiments)
    write_named(page, results_page.page(experiments, command))
    if readme is not None and marked is not None:
        write_named(readme, results_page.in_readme(marked, sentences))
    say(sentences)
    say(f"page: {page}")


def _marked(page: Path) -> str:
    """The text of a page that has the two marks of the verdicts' numbers."""
    from attnjax.results.results_page import TALLY

    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{page} cannot be read: {error}") from error
    if text.count(TALLY) != 2:
        raise UserError(f"{page} has {text.count(TALLY)} of the two marks {TALLY}")
    return text
