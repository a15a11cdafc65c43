"""The verdicts of several experiments: a row for each claim, and how many have each verdict."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from attnjax.lab.reporting import evidence as say
from attnjax.lab.reporting.recorded import Recorded
from attnjax.lab.results.description import with_setting
from attnjax.lab.results.summary import Judged

FALSE = 0.1
"""The share of wrong verdicts among those below Benjamini and Hochberg's line."""

VERBS = {
    "reproduced": ("is reproduced", "are reproduced"),
    "not reproduced": ("is not", "are not"),
    "undecided": ("is undecided", "are undecided"),
    "not trained": ("is of networks that had not learnt", "are of networks that had not learnt"),
    "depends on the rate": ("depends on the learning rate", "depend on the learning rate"),
    "split": ("has other verdicts on other machines", "have other verdicts on other machines"),
}
"""What is said of one claim and of several, by their verdict, in the order of the sentences."""


def verdicts(experiments: Sequence[Recorded]) -> Iterator[tuple[str, str, str]]:
    """Yield the experiment, the claim and its verdict for each claim; one row if there is none."""
    for experiment in experiments:
        name, judged = with_setting(experiment.loaded), experiment.summary.judged
        if not judged:
            yield name, "no claims", ""
        for claim in judged:
            yield name, claim.text, say.verdicts(claim)


def tally(experiments: Sequence[Recorded]) -> str:
    """Return the number of claims with each verdict, in sentences; no claim is left out.

    A claim that two experiments ask counts in both.
    """
    every = [
        Counted.of(judged, experiment)
        for experiment in experiments
        for judged in experiment.summary.judged
    ]
    seeds = [claim for claim in every if claim and not claim.exact]
    exact = [claim for claim in every if claim and claim.exact]
    words = []
    for whose, of_paper in (("of papers", True), ("of our own", False)):
        if claims := [claim for claim in seeds if claim.of_paper == of_paper]:
            words.append(f"{_verdicts(claims, f'of {_claims(len(claims))} {whose} ')}.")
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
    """What the tally says of a claim: a key of `VERBS`, and whether the estimate is a count.

    `of_paper` says whether a paper makes the claim.
    """

    verdict: str
    of_paper: bool
    exact: bool
    exploratory: bool
    p: float | None

    @classmethod
    def of(cls, judged: Judged, experiment: Recorded) -> Self | None:
        """Return what is counted of a claim; None: it waits for runs."""
        row = judged.weakest
        if row is None or (judged.agreed and row.verdict == "not judged yet"):
            return None
        return cls(
            verdict=row.verdict if judged.agreed else "split",
            of_paper=judged.source is not None,
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
