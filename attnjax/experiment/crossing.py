"""How variants are crossed, in rows and columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from attnjax.errors import UserError, unknown
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.metric import ExactMatch
from attnjax.experiment.experiment import Experiment


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """Variants in rows and columns, such as layers and tasks: drawn as one table of both.

    The variant of a row and a column is named "column-row"; one that is not there leaves its place
    empty.

    Attributes:
        rows: the first one is what rows that are entered are compared with.
        columns: by name, the numbers that are shown, all of them shares; the last one decides.
        entered: the rows that are not the ablation's own, see `attnjax.experiment.enter`.
        guesses: what is right without a network, by row and column, see `evaluation.guesses`.
    """

    rows: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    entered: tuple[str, ...] = ()
    guesses: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)

    def check(self, variants: Mapping[str, Experiment]) -> None:
        """Refuse a crossing that its ablation does not have.

        Raises:
            UserError: there is no row or no column; a row stands twice, has no name or no variant;
                an entered one is no row; or a column shows a number that no variant of it measures.
        """
        if not self.rows or not self.columns:
            raise UserError(
                "a crossing wants at least one row and one column; got "
                f"{len(self.rows)} rows and {len(self.columns)} columns"
            )
        for row in self.rows:
            if not row:
                raise UserError("a row of a crossing has a name; got ''")
            if self.rows.count(row) > 1:
                raise UserError(f"the row {row} stands in the crossing twice")
            if not any(self.variant(row, column) in variants for column in self.columns):
                wanted = self.variant(row, next(iter(self.columns)))
                raise UserError(
                    f"the row {row} of the crossing has no variant: wanted one such as {wanted}"
                )
        for name in self.entered:
            if name not in self.rows:
                raise unknown("entered row of the crossing", name, self.rows)
        for column, metrics in self.columns.items():
            places = (self.variant(row, column) for row in self.rows)
            known = set().union(*(_numbers(variants[at]) for at in places if at in variants))
            for metric in metrics:
                if metric not in known:
                    raise unknown(f"number of the crossing's column {column}:", metric, known)

    @staticmethod
    def variant(row: str, column: str) -> str:
        """Return the name of the variant in a row and a column."""
        return f"{column}-{row}"


def _numbers(experiment: Experiment) -> set[str]:
    """Return the names of the numbers that runs measure; the task's own metric may be any."""
    names = {key.name for key in experiment.keys}
    by_default = experiment.metric is None and experiment.task.answers is not None
    return names | ({ExactMatch().name, Bleu().name} if by_default else set())
