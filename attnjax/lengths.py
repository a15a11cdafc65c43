"""How long a sentence may be: what a model has a parameter for at each place, has an end."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from attnjax.errors import UserError
from attnjax.models.model import Model
from attnjax.vary import walk

LIMITS = ("position.length", "score.length")
"""A table of positions, and a score that has a column for each place."""


class Longest(NamedTuple):
    """The most symbols that a sentence may have, and the field that says so."""

    symbols: int
    path: str


def longest(model: Model) -> Longest | None:
    """The least of the model's limits; None: it has none."""
    found = [
        Longest(value, path)
        for path, value in walk(model, "model")
        if path.endswith(LIMITS) and isinstance(value, int)
    ]
    return min(found, default=None)


def check_lengths(model: Model, sentences: Sequence[Any], where: str, side: str = "") -> None:
    """Refuse a sentence that is longer than the model can have one.

    Args:
        model: the model.
        sentences: each as its symbols.
        where: what they are the sentences of, in words: "of the test split".
        side: what of the sentence they are: "the source of ".

    Raises:
        UserError: the first that is too long, by its number.
    """
    limit = longest(model)
    for number, symbols in enumerate(sentences, start=1):
        if limit is not None and len(symbols) > limit.symbols:
            raise UserError(
                f"{side}sentence {number} {where} has {len(symbols)} symbols (its end counted), "
                f"and the model {limit.symbols} positions ({limit.path})"
            )
