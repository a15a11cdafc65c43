"""What was found: published claims beside what we measured, a row each, by their kind."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnjax.experiment import Claim, Kind
from attnjax.experiment.claims import KINDS
from attnjax.lab.reporting import evidence as say
from attnjax.lab.reporting.number import number
from attnjax.lab.reporting.recorded import Recorded
from attnjax.lab.results.description import with_setting
from attnjax.lab.results.summary import ClaimRow, Judged
from results_page.rerun import minutes_of

DECIDED = ("reproduced", "not reproduced")

SPLIT = "≠"
"""The mark of exact counts that have other verdicts on other machines."""


@dataclass(frozen=True, kw_only=True)
class FoundRow:
    """A row: a published claim, or all exact counts of an experiment.

    Attributes:
        place: the paper, and its table or section.
        printed: the quotation, and the figure in our unit; "": there is none.
        ours: the estimate with its interval, and the number of seeds.
        verdict: with its mark.
    """

    experiment: str
    kind: Kind
    place: str
    text: str
    printed: str
    ours: str
    verdict: str
    minutes: float
    command: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of the row in a table of Markdown."""
        minutes = number(self.minutes, 2) if self.minutes >= 1 else "under 1"
        printed = self.printed or "–"
        words = (self.place, self.text, self.kind, printed, self.ours, self.verdict, minutes)
        return (*words, f"`{self.command}`")

    @property
    def sentence(self) -> str:
        """The row in one line of text."""
        printed = f"; printed: {self.printed}" if self.printed else ""
        return f"{self.verdict}: {self.text}: {self.ours} ({self.place}{printed})"


def findings(experiments: Sequence[Recorded]) -> list[FoundRow]:
    """Return the rows by kind, those of a kind in the order of the experiments.

    No verdict moves a row or leaves it out; claims that wait for runs have none.
    """
    rows = [found for experiment in experiments for found in _of(experiment)]
    return sorted(rows, key=lambda row: KINDS.index(row.kind))


def _of(experiment: Recorded) -> Iterator[FoundRow]:
    claims = experiment.loaded.ablation.claims
    counts = dict[Kind, list[Judged]]()
    for claim, judged in zip(claims, experiment.summary.judged, strict=True):
        row = judged.weakest
        if judged.kind is None or row is None:
            continue
        if row.basis == "count":
            counts.setdefault(judged.kind, []).append(judged)
        else:
            yield _finding(experiment, claim, judged.kind, judged, row)
    for kind, of_kind in counts.items():
        yield _of_counts(experiment, kind, of_kind)


def _finding(
    experiment: Recorded, claim: Claim, kind: Kind, judged: Judged, row: ClaimRow
) -> FoundRow:
    return FoundRow(
        experiment=with_setting(experiment.loaded),
        kind=kind,
        place=judged.source or "",
        text=judged.text,
        printed="; ".join(filter(None, (judged.quote, _in_our_unit(experiment, claim)))),
        ours=f"{say.quantity(row)}: {say.effect(row)} ({say.ends(row)}), {len(row.seeds)} seeds",
        verdict=say.verdicts(judged),
        minutes=minutes_of(experiment, claim.variants),
        command=_command(experiment, claim.variants),
    )


def _in_our_unit(experiment: Recorded, claim: Claim) -> str:
    """Return the printed figure that a claim is on, as a value of our metric; "": it has none."""
    metric = claim.estimand.key
    values = [
        f"{figure.value:.5g}"
        for figure in experiment.loaded.ablation.published
        if claim.kind == "figure" and (figure.variant, figure.key) == (*claim.variants[:1], metric)
    ]
    return f"that is {values[0]} {metric}" if values else ""


def _of_counts(experiment: Recorded, kind: Kind, counts: Sequence[Judged]) -> FoundRow:
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
        kind=kind,
        place="; ".join(places),
        text=f"{number} exact counts, a row each below",
        printed="",
        ours=f"{reproduced} of {number} in their regions",
        verdict=", ".join(f"{mark} {n}" for mark, n in shown.items() if n or mark in decided),
        minutes=minutes_of(experiment, variants),
        command=_command(experiment, variants),
    )


def _command(experiment: Recorded, variants: Sequence[str]) -> str:
    """Return the command that runs these variants and no others."""
    every = experiment.loaded.ablation.variants
    named = "" if {*variants} == {*every} else "".join(f" --variant {name}" for name in variants)
    return f"attnjax run {with_setting(experiment.loaded)}{named}"
