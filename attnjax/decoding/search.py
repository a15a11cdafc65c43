"""The interface of searches: hypotheses of a sentence, over any model with `step`.

A search is pure: `init` makes its state, `advance` takes the logits of one step into the state and
says which hypotheses continue, `finalize` reads the hypotheses from the state.

PAD and START are never chosen; the scores of the other words are not renormalized for that. The
hypotheses of a sentence have at most `limit` words, END counted: the word at the limit is END.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from attnjax.errors import UserError
from attnjax.models.sequence_model import SequenceModel


class Hypotheses(NamedTuple):
    """K hypotheses of each sentence, best first; L is the greatest length searched.

    Tokens are ended by END, with PAD after it; scores are log-probabilities over their length
    penalty. Where there are fewer than K hypotheses, all tokens are PAD and the score is -inf.
    """

    tokens: Int[Array | np.ndarray, "B K L"]
    scores: Float[Array | np.ndarray, "B K"]


@dataclass(frozen=True, kw_only=True)
class Search(ABC):
    """A search for hypotheses. A part: subclasses are chosen on the command line.

    A search's state is a tuple of arrays [B, ...], one row a sentence. It has two fields of fixed
    names: `last`, the words [B, K] that the model reads next, and `active`, booleans [B], whether
    the sentence is unfinished. A finished sentence may stay in the batch; nothing of it changes.
    """

    @property
    def width(self) -> int:
        """K, the number of hypotheses of a sentence that are continued together."""
        return 1

    def check(self, model: SequenceModel) -> None:
        """Refuse, before anything is trained, a model whose targets this search cannot find."""
        if model.predicts_label:
            raise UserError(
                f"a {type(model).__name__} gives one label, found by search:label; "
                f"got {type(self).__name__}, which would repeat the label"
            )

    @abstractmethod
    def init(self, limit: Int[Array, " B"], length: int, number: Int[Array, " B"]) -> Any:
        """Return the state before the first word; L = `length`, and larger limits are cut to it.

        A row of limit 0 (filler) is finished from the beginning. What a search draws for a sentence
        depends on the sentence's number.
        """

    @abstractmethod
    def advance(
        self, state: Any, logits: Float[Array, "B K V"], step: Int[Array, ""]
    ) -> tuple[Any, Int[Array, "B K"]]:
        """Choose the word after `step` words; return the state, and the hypotheses continued."""

    @abstractmethod
    def finalize(self, state: Any) -> Hypotheses:
        """Return the hypotheses of the sentences that are finished."""


def pick(leaf: Shaped[Array, "B K *D"], index: Int[Array, "B J"]) -> Shaped[Array, "B J *D"]:
    """Select the entries of each sentence at an index."""
    return jnp.take_along_axis(leaf, index.reshape(index.shape + (1,) * (leaf.ndim - 2)), axis=1)
