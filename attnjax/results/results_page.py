"""The page of results, in Markdown: every recorded experiment, its claims and their verdicts."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from attnjax.reporting import evidence as say
from attnjax.reporting.number import number
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
    lines = [
        "# Results",
        "",
        f"`{command}` makes this page from the records of finished runs; no figure is typed.",
        "Experiments without a record were not run as they are now.",
        "",
        TALLY,
        tally(experiments),
        TALLY,
        "",
        *(line for experiment in experiments for line in _experiment(experiment)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def in_readme(readme: str, sentences: str) -> str:
    """README with these sentences between the marks of the tally."""
    before, _, after = readme.split(TALLY)
    return f"{before}{TALLY}\n{sentences}\n{TALLY}{after}"


def _experiment(experiment: Recorded) -> Iterator[str]:
    loaded = experiment.loaded
    setting = "" if loaded.setting is None else f" --setting {loaded.setting}"
    yield from (f"## {loaded.name}{setting}", "", loaded.title, "")
    yield from (f"    attnjax run {loaded.name}{setting}", "")
    if experiment.earlier:
        yield f"Of other settings there are {_runs(len(experiment.earlier))} more, not shown."
        yield ""
    if not experiment.records:
        return
    yield from (_made(experiment.records), "")
    if experiment.exploratory:
        yield "Exploratory: claims, grid or planned seeds were changed after the first record, of"
        yield from (f"{experiment.first.date}.", "")
    if experiment.judged:
        yield "| claim | verdict | estimate | by seed |"
        yield "|---|---|---|---|"
        yield from (_claim(judged) for judged in experiment.judged)
        yield ""
    for figure in loaded.ablation.published:
        source = f"{figure.paper}, {figure.table}: {figure.key} of {figure.variant}"
        ours = experiment.mean(figure.variant, figure.key)
        if figure.why_not:
            yield f"- {source} {number(figure.value)}; not comparable: {figure.why_not}"
        elif ours is not None:
            yield f"- {source} {number(figure.value)}, here {number(ours)}"
    yield ""


def _made(records: Sequence[Record]) -> str:
    """The runs, minutes, machines, dates and commits of records, in a sentence."""
    trained = sum(record.minutes.run for record in records)
    tuned = {
        (record.variant, record.kind): record.minutes.tune or 0
        for record in records
        if not record.tied
    }
    dates = {record.date for record in records}
    kinds = dict.fromkeys(record.kind for record in records)
    codes = [record.code.attnjax for record in records if record.code is not None]
    commits = dict.fromkeys(
        f"{code.commit[:8]}{'' if code.clean else ', changed'}" for code in codes if code.commit
    )
    minutes = f"{trained + sum(tuned.values()):.0f} minutes of training and decoding"
    return "; ".join(
        [
            f"{_runs(len(records))}, {minutes}",
            " and ".join(kinds),
            " to ".join(dict.fromkeys((min(dates), max(dates)))),
            f"commit {', '.join(commits) or 'unknown'}.",
        ]
    )


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _claim(judged: Judged) -> str:
    claim, rows = judged.claim, judged.rows
    text = claim.text if claim.source is None else f"{claim.text} ({claim.source})"
    if not rows:
        return _row(text, "…", judged.missing, "")

    def of_each(words: Callable[[ClaimRow], str]) -> list[str]:
        if len(rows) == 1:
            return [*map(words, rows.values())]
        return [f"{kind}: {words(row)}" for kind, row in rows.items()]

    first = next(iter(rows.values()))
    verdict = say.verdict(first) if judged.agreed else "; ".join(of_each(say.verdict))
    estimates = "<br>".join(of_each(say.evidence))
    return _row(text, verdict, estimates, "<br>".join(map(_seeds, rows.values())))


def _seeds(row: ClaimRow) -> str:
    if row.verdict in ("not trained", "not judged yet", "depends on the rate"):
        return row.reason
    values = ", ".join(number(value, 3) for _, value in row.seeds)
    words = (values, row.reason or say.few_seeds(row) or say.wanting(row), say.at_ties(row))
    return "; ".join(filter(None, words))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
