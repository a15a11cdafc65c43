"""How long a sentence may be: what a model has a parameter for at each place, has an end."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from attnjax.config.walk import walk
from attnjax.data.vocabularies import Side
from attnjax.errors import UserError
from attnjax.models.base import Model
from attnjax.models.transformer import Transformer


class Longest(NamedTuple):
    """The most symbols that a sentence may have, and the field that says so."""

    symbols: int
    path: str


def longest(model: Model, side: Side) -> Longest | None:
    """The least of the model's limits on a side; None: it has none.

    A table of positions limits both sides; a score that has a column for each key, the side that
    the keys are of.
    """
    found = [
        Longest(value, path)
        for path, value in walk(model, "model")
        if isinstance(value, int)
        and (
            path.endswith("position.max_length")
            or (path.endswith("score.max_length") and _keys(model, path) == side)
        )
    ]
    return min(found, default=None)


def _keys(model: Model, path: str) -> Side:
    """Which side the attention at this path has its keys from."""
    to_itself = path.startswith("model.decoder_layer.self_attention.")
    return "target" if isinstance(model, Transformer) and to_itself else "source"


def check_lengths(model: Model, sentences: Sequence[Any], where: str, side: Side) -> None:
    """Refuse a sentence that is longer than the model can have one.

    Args:
        model: the model.
        sentences: each as its symbols.
        where: what they are the sentences of, in words: "of the test split".
        side: what of the model's examples they are.

    Raises:
        UserError: the first that is too long, by its number.
    """
    limit = longest(model, side)
    for number, symbols in enumerate(sentences, start=1):
        if limit is not None and len(symbols) > limit.symbols:
            raise UserError(
                f"the {side} of sentence {number} {where} has {len(symbols)} symbols (its end "
                f"counted), and the model {limit.symbols} positions ({limit.path})"
            )
