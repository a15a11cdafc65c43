"""The verdicts of several experiments: a row for each claim, and how many have each verdict."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

from attnjax.experiment.claims import Kind
from attnjax.lab.reporting import evidence as say
from attnjax.lab.reporting.recorded import Recorded
from attnjax.lab.results.description import with_setting
from attnjax.lab.results.summary import Judged

type Verbs = dict[str, tuple[str, str]]
"""What is said of one claim and of several, by their verdict, in the order of the sentences."""

AGREE: Verbs = {"reproduced": ("agrees", "agree"), "not reproduced": ("does not", "do not")}
REPRODUCED: Verbs = {
    "reproduced": ("is reproduced", "are reproduced"),
    "not reproduced": ("is not", "are not"),
}
HOLD: Verbs = {"reproduced": ("holds", "hold"), "not reproduced": ("does not", "do not")}
OTHERS: Verbs = {
    "undecided": ("is undecided", "are undecided"),
    "not trained": ("is of networks that had not learnt", "are of networks that had not learnt"),
    "depends on the rate": ("depends on the learning rate", "depend on the learning rate"),
    "split": ("has other verdicts on other machines", "have other verdicts on other machines"),
}

GROUPS: tuple[tuple[Kind | None, str, Verbs], ...] = (
    ("figure", "In their authors' own settings, beside their printed numbers", AGREE),
    ("setting", "In their authors' own settings, with no number in our unit", REPRODUCED),
    ("reduced", "In reduced settings", REPRODUCED),
    ("stand-in", "Statements tried on small tasks", HOLD),
    (None, "Our own questions", HOLD),
)
"""How the sentence on the claims of a kind begins, and its verbs; None: our own questions."""

PAPER = re.compile(r"[^,]+ (19|20)\d\d[a-z]?\b")
"""How the source of a paper begins; those of lectures, notebooks and programs have no year."""


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
    words = [*_by_kind(seeds)]
    if exact:
        more = "more " if seeds else ""
        verb = _form(len(exact), "is an exact count", "are exact counts")
        words.append(f"{len(exact)} {more}{verb}: {_verdicts(exact, HOLD)}.")
    if waiting := every.count(None):
        words.append(f"{waiting} {_form(waiting, 'claim waits', 'claims wait')} for runs.")
    return " ".join(words)


def _by_kind(claims: Sequence["Counted"]) -> Iterator[str]:
    """Yield a sentence on the claims of each kind."""
    for kind, begin, verbs in GROUPS:
        if of := [claim for claim in claims if claim.kind == kind]:
            apart = _by_origin(of) if kind == "figure" else ""
            yield f"{begin}: {_verdicts(of, verbs, f' of {len(of)}', apart)}."


class Counted(NamedTuple):
    """What the tally says of a claim: its verdict, and whether the estimate is a count.

    `of_paper` says whether a paper makes the claim, and not a lecture, a notebook or a program.
    """

    verdict: str
    kind: Kind | None
    of_paper: bool
    exact: bool
    exploratory: bool

    @classmethod
    def of(cls, judged: Judged, experiment: Recorded) -> Self | None:
        """Return what is counted of a claim; None: it waits for runs."""
        row = judged.weakest
        if row is None or (judged.agreed and row.verdict == "not judged yet"):
            return None
        return cls(
            verdict=row.verdict if judged.agreed else "split",
            kind=judged.kind,
            of_paper=PAPER.match(judged.source or "") is not None,
            exact=row.basis == "count",
            exploratory=row.exploratory or experiment.exploratory,
        )


def _verdicts(claims: Sequence[Counted], verbs: Verbs, of: str = "", apart: str = "") -> str:
    """Return the verdicts of claims with their numbers: "3 hold and 1 is undecided".

    `of` stands after the first number, and `apart` after its verb.
    """
    numbers = Counter(claim.verdict for claim in claims)
    hold = numbers["reproduced"]
    parts = [f"{hold}{of} {_form(hold, *verbs['reproduced'])}{apart}"]
    for verdict, forms in (verbs | OTHERS).items():
        if verdict != "reproduced" and (number := numbers[verdict]):
            parts.append(f"{number} {_form(number, *forms)}")
    words = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    exploratory = sum(claim.exploratory for claim in claims)
    if not exploratory:
        return words
    return f"{words}; {exploratory} of them {_form(exploratory, 'is', 'are')} exploratory"


def _by_origin(claims: Sequence[Counted]) -> str:
    """Return how many figures of papers, and of others, agree."""
    words = []
    for of_paper, whose in ((True, "papers'"), (False, "of lectures, notebooks and programs")):
        of = [claim.verdict for claim in claims if claim.of_paper == of_paper]
        words += [f"{of.count('reproduced')} of {len(of)} {whose}"] if of else []
    return f" ({', '.join(words)})"


def _form(number: int, singular: str, plural: str) -> str:
    return singular if number == 1 else plural
