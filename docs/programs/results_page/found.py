"""What was found: the claims of papers beside what we measured, a row each."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnjax.lab.reporting import evidence as say
from attnjax.lab.reporting.number import number
from attnjax.lab.reporting.recorded import Recorded
from attnjax.lab.results.description import with_setting
from attnjax.lab.results.summary import ClaimRow, Judged
from results_page.rerun import minutes_of

MOST = 40
"""The most rows that one looks at."""

DECIDED = ("reproduced", "not reproduced")

SPLIT = "≠"
"""The mark of exact counts that have other verdicts on other machines."""


@dataclass(frozen=True, kw_only=True)
class FoundRow:
    """A row: a claim of a paper, or all exact counts of an experiment.

    Attributes:
        place: the paper, and its table or section.
        printed: the paper's number or sentence; "": the source quotes none.
        ours: the estimate with its interval, and the number of seeds.
        seeds: their number; 0: the row is of counts, which are the same for every seed.
        verdict: with its mark.
        rank: what comes first where there is no room for all: decided, and beside a number.
    """

    experiment: str
    place: str
    text: str
    printed: str
    ours: str
    seeds: int
    verdict: str
    minutes: float
    command: str
    rank: tuple[bool, bool]

    @property
    def claim(self) -> tuple[str, str]:
        """What is claimed, and where."""
        return self.place, self.text

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of the row in a table of Markdown."""
        minutes = number(self.minutes, 2) if self.minutes >= 1 else "under 1"
        words = (self.place, self.text, self.printed or "–", self.ours, self.verdict, minutes)
        return (*words, f"`{self.command}`")

    @property
    def sentence(self) -> str:
        """The row in one line of text."""
        printed = f"; printed: {self.printed}" if self.printed else ""
        return f"{self.verdict}: {self.text}: {self.ours} ({self.place}{printed})"


def findings(experiments: Sequence[Recorded]) -> list[FoundRow]:
    """Return the rows in the order of the experiments; claims that wait for runs have none."""
    return [found for experiment in experiments for found in _of(experiment)]


def first(rows: Sequence[FoundRow]) -> list[FoundRow]:
    """Return at most `MOST` rows, in their order: those of the highest rank.

    Of a claim that was asked in several experiments only the row with the most seeds is returned.
    """
    seeds = dict[tuple[str, str], int]()
    for row in rows:
        seeds[row.claim] = max(row.seeds, seeds.get(row.claim, 0))
    asked = [place for place, row in enumerate(rows) if row.seeds == seeds[row.claim]]
    ranked = sorted(asked, key=lambda place: rows[place].rank, reverse=True)
    return [rows[place] for place in sorted(ranked[:MOST])]


def _of(experiment: Recorded) -> Iterator[FoundRow]:
    claims = experiment.loaded.ablation.claims
    counts = list[Judged]()
    for claim, judged in zip(claims, experiment.summary.judged, strict=True):
        row = judged.weakest
        if judged.source is None or row is None:
            continue
        if row.basis == "count":
            counts.append(judged)
        else:
            yield _finding(experiment, judged, row, claim.variants)
    if counts:
        yield _of_counts(experiment, counts)


def _finding(
    experiment: Recorded, judged: Judged, row: ClaimRow, variants: Sequence[str]
) -> FoundRow:
    return FoundRow(
        experiment=with_setting(experiment.loaded),
        place=judged.source or "",
        text=judged.text,
        printed=judged.quote or "",
        ours=f"{say.quantity(row)}: {say.effect(row)} ({say.ends(row)}), {len(row.seeds)} seeds",
        seeds=len(row.seeds),
        verdict=say.verdicts(judged),
        minutes=minutes_of(experiment, variants),
        command=_command(experiment, variants),
        rank=(judged.agreed and row.verdict in DECIDED, bool(re.search(r"\d", judged.quote or ""))),
    )


def _of_counts(experiment: Recorded, counts: Sequence[Judged]) -> FoundRow:
    verdicts = Counter(
        say.MARKS[row.verdict] if judged.agreed else SPLIT
        for judged in counts
        if (row := judged.weakest) is not None
    )
    places = dict.fromkeys(judged.source or "" for judged in counts)
    reproduced, number = verdicts[say.MARKS["reproduced"]], len(counts)
    shown = {mark: verdicts[mark] for mark in (*say.MARKS.values(), SPLIT)}
    decided = [say.MARKS[verdict] for verdict in DECIDED]
    variants = [*experiment.loaded.ablation.variants]
    return FoundRow(
        experiment=with_setting(experiment.loaded),
        place="; ".join(places),
        text=f"{number} exact counts, a row each below",
        printed="",
        ours=f"{reproduced} of {number} in their regions",
        seeds=0,
        verdict=", ".join(f"{mark} {n}" for mark, n in shown.items() if n or mark in decided),
        minutes=minutes_of(experiment, variants),
        command=_command(experiment, variants),
        rank=(sum(verdicts[mark] for mark in decided) == number, True),
    )


def _command(experiment: Recorded, variants: Sequence[str]) -> str:
    """Return the command that runs these variants and no others."""
    every = experiment.loaded.ablation.variants
    named = "" if {*variants} == {*every} else "".join(f" --variant {name}" for name in variants)
    return f"attnjax run {with_setting(experiment.loaded)}{named}"
