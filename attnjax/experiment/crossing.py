"""How variants are crossed, in rows and columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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

    @staticmethod
    def variant(row: str, column: str) -> str:
        """Return the name of the variant in a row and a column."""
        return f"{column}-{row}"
