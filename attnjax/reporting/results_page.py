"""The page of results, in Markdown: every recorded experiment, its claims and their verdicts."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from attnjax.errors import UserError, warn
from attnjax.experiment.design import design
from attnjax.experiment.load import ExperimentFile, load
from attnjax.reporting import evidence as say
from attnjax.reporting.number import number
from attnjax.reporting.page import render
from attnjax.results.description import with_setting
from attnjax.results.judging import judge
from attnjax.results.record import Record
from attnjax.results.summary import ClaimRow, Judged, Summary
from attnjax.runs.catalog import find, names

FALSE = 0.1
"""The share of wrong verdicts among those below Benjamini and Hochberg's line."""

MARK = re.compile(r"<!-- (tally|rerun of \S+) -->(\s*).*?(\s*)<!-- \1 -->", re.DOTALL)
"""Stands before and after what README has of this page."""

VERBS = {
    "reproduced": ("is reproduced", "are reproduced"),
    "not reproduced": ("is not", "are not"),
    "undecided": ("is undecided", "are undecided"),
    "not trained": ("is of networks that had not learnt", "are of networks that had not learnt"),
    "depends on the rate": ("depends on the learning rate", "depend on the learning rate"),
    "split": ("has other verdicts on other machines", "have other verdicts on other machines"),
}
"""What is said of one claim and of several, by their verdict, in the order of the sentences."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """An experiment in one of its settings, judged by its records.

    Attributes:
        first: the first record of the experiment; its design is the one that was fixed first.
    """

    loaded: ExperimentFile
    first: Record
    summary: Summary

    @property
    def exploratory(self) -> bool:
        """Whether the design was changed after the first record."""
        return self.first.design != design(self.loaded.ablation, self.loaded.own)


def recorded(loaded: ExperimentFile, records: Sequence[Record]) -> Recorded:
    """Judge an experiment, in the setting of these records, by them; the first comes first."""
    return Recorded(loaded=loaded, first=records[0], summary=judge(loaded, records))


def of_shipped(records: Sequence[Record]) -> list[Recorded]:
    """Judge the experiments that come with attnjax and are recorded.

    A record names its experiment, and no file of another name is executed: a warning says which
    records are left out.

    Raises:
        UserError: all are left out.
    """
    by_experiment = defaultdict[tuple[str, str], list[Record]](list)
    for record in records:
        by_experiment[record.experiment, record.setting or ""].append(record)
    known, shipped = [], names()
    for (name, setting), own in sorted(by_experiment.items()):
        loaded = load(find(name)) if name in shipped else None
        if loaded is not None and setting in ("", *loaded.ablation.settings):
            known.append(recorded(loaded.at(setting or None), own))
        else:
            called = f"{name} --setting {setting}" if setting else name
            warn(f"{called} does not come with attnjax: {len(own)} of its records are left out")
    if not known:
        raise UserError("no record is of an experiment that comes with attnjax")
    return known


def tally(experiments: Sequence[Recorded]) -> str:
    """Return the number of claims with each verdict, in sentences; no claim is left out."""
    every = [
        Counted.of(judged, experiment)
        for experiment in experiments
        for judged in experiment.summary.judged
    ]
    seeds = [claim for claim in every if claim and not claim.exact]
    exact = [claim for claim in every if claim and claim.exact]
    words = []
    if seeds:
        words.append(f"{_verdicts(seeds, f'of {_claims(len(seeds))} ')}.")
    if exact:
        more = "more " if seeds else ""
        verb = _form(len(exact), "is an exact count", "are exact counts")
        words.append(f"{len(exact)} {more}{verb}: {_verdicts(exact)}.")
    if waiting := every.count(None):
        words.append(f"{_claims(waiting)} {_form(waiting, 'waits', 'wait')} for runs.")
    if values := [claim.p for claim in seeds if claim.p is not None]:
        words.append(
            f"At a false discovery rate of {100 * FALSE:.0f} % (Benjamini-Hochberg) "
            f"{standing(values)} of {len(values)} verdicts stand."
        )
    return " ".join(words)


class Counted(NamedTuple):
    """What the tally says of a claim: a key of `VERBS`, and whether the estimate is a count."""

    verdict: str
    exact: bool
    exploratory: bool
    p: float | None

    @classmethod
    def of(cls, judged: Judged, experiment: Recorded) -> Self | None:
        """Return what is counted of a claim; None: it waits for runs."""
        row = next(iter(judged.rows.values()), None)
        if row is None or (judged.agreed and row.verdict == "not judged yet"):
            return None
        return cls(
            verdict=row.verdict if judged.agreed else "split",
            exact=row.basis == "count",
            exploratory=row.exploratory or experiment.exploratory,
            p=row.p if judged.agreed else None,
        )


def _verdicts(claims: Sequence[Counted], of: str = "") -> str:
    """Return the verdicts of claims with their numbers: "3 are reproduced and 1 is undecided".

    `of` stands after the first number: "3 of 4 claims are reproduced and 1 is undecided".
    """
    numbers = Counter(claim.verdict for claim in claims)
    parts = list[str]()
    for verdict, verbs in VERBS.items():
        if number := numbers[verdict]:
            parts.append(f"{number} {'' if parts else of}{_form(number, *verbs)}")
    words = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    exploratory = sum(claim.exploratory for claim in claims)
    if not exploratory:
        return words
    return f"{words}; {exploratory} of them {_form(exploratory, 'is', 'are')} exploratory"


def _claims(number: int) -> str:
    return f"{number} {_form(number, 'claim', 'claims')}"


def _form(number: int, singular: str, plural: str) -> str:
    return singular if number == 1 else plural


def standing(values: Sequence[float]) -> int:
    """Return how many p lie below the line under which at most a tenth of verdicts are wrong.

    Source: Benjamini & Hochberg 1995.
    """
    ranked = enumerate(sorted(values), start=1)
    return max((k for k, p in ranked if p <= FALSE * k / len(values)), default=0)


def page(experiments: Sequence[Recorded], command: str) -> str:
    """Render the page of the experiments with records, in their order; `command` makes it."""
    content = render(
        "results.md.jinja",
        experiments=experiments,
        command=command,
        tally=tally(experiments),
        runs=_runs,
        made=_made,
        with_setting=with_setting,
        row=_row,
        number=number,
    )
    return content.rstrip() + "\n"


def in_readme(readme: str, experiments: Sequence[Recorded]) -> str:
    """Return README with the tally and the times of reruns between their marks.

    Raises:
        UserError: it has no marks, or one of what no record is about.
    """
    texts = {"tally": tally(experiments)}
    texts |= {f"rerun of {name}": time for name, time in rerun_times(experiments).items()}

    def filled(mark: re.Match[str]) -> str:
        name, before, after = mark.groups()
        if name not in texts:
            raise UserError(f"README has a mark for the {name}, of which there is no record")
        return f"<!-- {name} -->{before}{texts[name]}{after}<!-- {name} -->"

    text, count = MARK.subn(filled, readme)
    if not count:
        raise UserError("README has no marks, such as two of <!-- tally --> with the tally between")
    return text


def _made(experiment: Recorded) -> str:
    """Describe records: their number, the time of a rerun, machines, dates and commits."""
    records = sorted(
        experiment.summary.records, key=lambda record: (record.recorded, record.path())
    )
    kinds = dict.fromkeys(record.kind for record in records)
    codes = [record.code.attnjax for record in records if record.code is not None]
    commits = dict.fromkeys(
        f"{code.commit[:8]}{'' if code.clean else ', changed'}" for code in codes if code.commit
    )
    dates = sorted(record.date for record in records)
    made = f"{_runs(records)}; one rerun: {rerun_time(experiment)}"
    on = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    return f"{made}; {' and '.join(kinds)}; {on}; commit {', '.join(commits) or 'unknown'}."


def _runs(records: Sequence[Record]) -> str:
    return "1 run" if len(records) == 1 else f"{len(records)} runs"


def _row(judged: Judged) -> str:
    """Return the row of a claim in a table of Markdown."""
    rows = judged.rows
    text = judged.text if judged.source is None else f"{judged.text} ({judged.source})"

    def of_each(words: Callable[[ClaimRow], str]) -> list[str]:
        if len(rows) == 1:
            return [*map(words, rows.values())]
        return [f"{kind}: {words(row)}" for kind, row in rows.items()]

    absent = ", ".join(judged.absent)
    cells = ("…", f"no record of {absent}" if absent else "not measured", "")
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


type Planned = Mapping[tuple[str, tuple[float, ...], int], Record]
"""The records of planned runs, by variant, values and seed."""


def rerun_time(experiment: Recorded) -> str:
    """Return the time of one rerun in words: "22 minutes"; "not run" without records.

    It is that of the file as it is now: every variant is tuned once, each planned seed is trained
    and decoded once at the chosen values and at those that are tied with them, one run after the
    other. Seeds that train together share their time, so it is the time by the clock. Of several
    kinds of machines the one with the most planned runs counts, and of these the fastest. If
    planned runs have no record, the words say of how many runs the time is.
    """
    ablation = experiment.loaded.ablation
    by_kind: dict[str, dict[tuple[str, tuple[float, ...], int], Record]] = defaultdict(dict)
    for record in experiment.summary.records:
        if record.seed in ablation.planned_seeds:
            by_kind[record.kind][record.variant, record.tied_values, record.seed] = record
    if not by_kind:
        return "not run"
    runs = max(by_kind.values(), key=lambda runs: (_at_chosen_values(runs), -_minutes(runs)))
    recorded, planned = _at_chosen_values(runs), len(ablation.variants) * ablation.seeds
    words = _in_words(_minutes(runs))
    return words if recorded == planned else f"{words} for {recorded} of {planned} runs"


def _at_chosen_values(runs: Planned) -> int:
    return sum(not record.tied for record in runs.values())


def _minutes(runs: Planned) -> float:
    chosen = [record for record in runs.values() if not record.tied]
    tuning = {record.variant: record.minutes.tune or 0.0 for record in chosen}
    return sum(record.minutes.run for record in runs.values()) + sum(tuning.values())


def _in_words(minutes: float) -> str:
    whole = round(minutes)
    return "under 1 minute" if minutes < 1 else f"{whole} minute{'' if whole == 1 else 's'}"


def rerun_times(experiments: Iterable[Recorded]) -> dict[str, str]:
    """Return the time of one rerun of each experiment in its own setting, by name."""
    own = [experiment for experiment in experiments if experiment.loaded.setting is None]
    return {experiment.loaded.name: rerun_time(experiment) for experiment in own}
