"""The page of results, in Markdown: every recorded experiment, its claims and their verdicts."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attnjax.reporting import evidence as say
from attnjax.reporting.number import number
from attnjax.reporting.page import render
from attnjax.reporting.summary import ClaimRow
from attnjax.results.record import Record
from attnjax.results.records import Judged, Recorded

FALSE = 0.1
"""The share of wrong verdicts among those below Benjamini and Hochberg's line."""

TALLY = "<!-- tally -->"
"""Stands before and after the sentences that README has of this page."""


def tally(experiments: Sequence[Recorded]) -> str:
    """The number of claims with each verdict, in sentences.

    Claims that wait for runs are not judged, and counts are exact, so neither is in the shares.
    """
    every = [judged for experiment in experiments for judged in experiment.judged]
    rows = [next(iter(judged.rows.values())) for judged in every if judged.rows and judged.agreed]
    counted = sum(row.basis == "count" for row in rows)
    verdicts = Counter(row.verdict for row in rows if row.basis != "count")
    split = sum(bool(judged.rows) and not judged.agreed for judged in every)
    judged = sum(verdicts.values()) - verdicts["not judged yet"] + split
    words = [
        f"Of {judged} judged claims {verdicts['reproduced']} are reproduced, "
        f"{verdicts['not reproduced']} are not, {verdicts['undecided']} are undecided, and "
        f"{verdicts['not trained']} are of networks that had not learnt."
    ]
    if tied := verdicts["depends on the rate"]:
        words.append(f"{tied} depend on the rate, where tuning cannot tell rates apart.")
    if split:
        words.append(f"{split} have other verdicts on other machines.")
    words += by_chance(sorted(row.p for row in rows if row.p is not None))
    if counted:
        words.append(f"{counted} more are counted exactly.")
    return " ".join(words)


def by_chance(values: Sequence[float]) -> Iterator[str]:
    """How many verdicts chance alone would give, and how many stand, in sentences.

    `values` are the p of each claim with an interval, in ascending order.

    Source: Benjamini & Hochberg 1995.
    """
    if not values:
        return
    ranks = range(1, len(values) + 1)
    below = [k for k, p in zip(ranks, values, strict=True) if p <= FALSE * k / len(values)]
    yield (
        f"If every truth lay at an end of its region, chance would decide "
        f"{number(0.05 * len(values), 2)} of the {len(values)} with an interval."
    )
    yield (
        f"Below Benjamini and Hochberg's line, under which at most {100 * FALSE:.0f} % are wrong, "
        f"lie {max(below, default=0)}."
    )


def page(experiments: Sequence[Recorded], command: str) -> str:
    """The whole page, of the experiments with records in their order; `command` makes it."""
    content = render(
        "results.md.jinja",
        experiments=experiments,
        command=command,
        mark=TALLY,
        tally=tally(experiments),
        runs=_runs,
        made=_made,
        row=_row,
        number=number,
    )
    return content.rstrip() + "\n"


def in_readme(readme: str, sentences: str) -> str:
    """README with these sentences between the marks of the tally."""
    before, _, after = readme.split(TALLY)
    return f"{before}{TALLY}\n{sentences}\n{TALLY}{after}"


def _made(records: Sequence[Record]) -> str:
    """The runs, minutes, machines, dates and commits of records, in a sentence."""
    trained = sum(record.minutes.run for record in records)
    tuned = {
        (record.variant, record.kind): record.minutes.tune or 0
        for record in records
        if not record.tied
    }
    minutes = trained + sum(tuned.values())
    kinds = dict.fromkeys(record.kind for record in records)
    codes = [record.code.attnjax for record in records if record.code is not None]
    commits = dict.fromkeys(
        f"{code.commit[:8]}{'' if code.clean else ', changed'}" for code in codes if code.commit
    )
    dates = sorted(record.date for record in records)
    made = f"{_runs(records)}, {minutes:.0f} minutes of training and decoding"
    on = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    return f"{made}; {' and '.join(kinds)}; {on}; commit {', '.join(commits) or 'unknown'}."


def _runs(records: Sequence[Record]) -> str:
    return "1 run" if len(records) == 1 else f"{len(records)} runs"


def _row(judged: Judged) -> str:
    """The row of a claim in a table of Markdown."""
    claim, rows = judged.claim, judged.rows
    text = claim.text if claim.source is None else f"{claim.text} ({claim.source})"

    def of_each(words: Callable[[ClaimRow], str]) -> list[str]:
        if len(rows) == 1:
            return [*map(words, rows.values())]
        return [f"{kind}: {words(row)}" for kind, row in rows.items()]

    cells = ("…", judged.missing, "")
    if rows:
        first = next(iter(rows.values()))
        verdict = say.verdict(first) if judged.agreed else "; ".join(of_each(say.verdict))
        estimates, seeds = of_each(say.evidence), map(_seeds, rows.values())
        cells = (verdict, "<br>".join(estimates), "<br>".join(seeds))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (text, *cells)) + " |"


def _seeds(row: ClaimRow) -> str:
    if row.verdict in ("not trained", "not judged yet", "depends on the rate"):
        return row.reason
    values = ", ".join(number(value, 3) for _, value in row.seeds)
    words = (values, row.reason or say.few_seeds(row) or say.wanting(row), say.at_ties(row))
    return "; ".join(filter(None, words))
