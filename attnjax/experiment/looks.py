"""A claim at the looks of an ablation: the first that decides it gives its verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnjax.experiment.claims import Claim, Verdict
from attnjax.experiment.estimands import Results
from attnjax.experiment.experiment import Experiment
from attnjax.experiment.numbers import lower, shares


@dataclass(frozen=True, kw_only=True)
class Looks:
    """A claim, and the seeds that it is judged by.

    Attributes:
        variants: the ablation's, by name.
        planned: the seeds of each look, neither fewer nor more than the plan.
    """

    claim: Claim
    variants: Mapping[str, Experiment]
    planned: Sequence[range]

    def judge(self, results: Results) -> Verdict | None:
        """Return the verdict of the first look that decides; None: nothing was measured."""
        verdict = None
        for planned in self.planned:
            latest = self.claim.judge(self._runs(results, planned), planned, len(self.planned))
            if verdict is not None and (latest is None or latest.verdict == "not judged yet"):
                return verdict
            verdict = latest
            if verdict is not None and verdict.verdict != "undecided":
                return verdict
        return verdict

    def deciding(self, results: Results) -> tuple[tuple[str, ...], ...]:
        """Return what each number of the claim needs of these results, by look.

        See `Estimand.deciding`.
        """
        return tuple(
            estimand.deciding(self._runs(results, planned))
            for planned in self.planned
            for estimand in self.claim.estimands
        )

    def _runs(self, results: Results, planned: range) -> Results:
        """Return the planned runs of the claim's variants, and what their numbers are."""
        runs = {}
        for name in filter(results.__contains__, self.claim.variants):
            kinds = {"shares": shares(self.variants[name]), "lower": lower(self.variants[name])}
            runs[name] = {
                seed: run._replace(**kinds)
                for seed, run in results[name].items()
                if seed in planned
            }
        return runs
