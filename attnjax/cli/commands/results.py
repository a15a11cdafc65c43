"""`attnjax results`."""

from pathlib import Path
from typing import Annotated

from attnjax.cli.command import option, positional
from attnjax.cli.output import say
from attnjax.files import write_atomically


def results(
    records: Annotated[Path, positional("RECORDS", "the folder of records")] = Path("records"),
    *,
    page: Annotated[Path, option("the page to write", "FILE")] = Path("docs/results.md"),
    readme: Annotated[
        Path | None, option("a page with marks for the numbers of verdicts", "FILE")
    ] = None,
) -> None:
    """Judge the claims of all recorded experiments, and write the page of results."""
    from attnjax.results import results_page
    from attnjax.results.records import of_shipped, read_records, recorded

    experiments = [recorded(*each) for each in of_shipped(read_records(records))]
    command = f"attnjax results {records}"
    sentences = results_page.tally(experiments)
    write_atomically(page, results_page.page(experiments, command))
    if readme is not None:
        text = readme.read_text(encoding="utf-8")
        write_atomically(readme, results_page.in_readme(text, sentences))
    say(sentences)
    say(f"page: {page}")
