"""`Search`, the base class of searches: hypotheses of a sentence, over any model with `step`.

A search is pure: `init` makes its state, `advance` takes the logits of one step into the state and
says which hypotheses go on, `finalize` reads the hypotheses from the state. `generate.py` calls
these three, and the model between them.

PAD and START are never chosen; the scores of the other words are not renormalized for that. The
hypotheses of a sentence have at most `limit` words, END counted: the word at the limit is END.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.errors import UserError
from attnjax.models.sequence_model import SequenceModel


class Hypotheses(NamedTuple):
    """K hypotheses of each sentence, best first; L is the greatest length searched.

    Attributes:
        tokens: int32 [B, K, L], ended by END, PAD after it; all PAD where there is no hypothesis
            (a sentence of limit 0, or fewer possible hypotheses than K).
        scores: float32 [B, K], log-probabilities over their length penalty; -inf where there is no
            hypothesis.
    """

    tokens: jax.Array | np.ndarray
    scores: jax.Array | np.ndarray


@dataclass(frozen=True, kw_only=True)
class Search(ABC):
    """A search for hypotheses. A part: subclasses are chosen on the command line.

    A search's state is a tuple of arrays [B, ...], one row a sentence. It has two fields of fixed
    names: `last`, the words [B, K] that the model reads next, and `active`, booleans [B], whether
    the sentence is unfinished. A finished sentence may stay in the batch; nothing of it changes.
    """

    @property
    def width(self) -> int:
        """K, how many hypotheses of a sentence go on together."""
        return 1

    def check(self, model: SequenceModel) -> None:
        """Refuse, before anything is trained, a model whose targets this search cannot find.

        Raises:
            UserError: the model gives one label, and the search finds sentences; or the reverse.
        """
        if model.predicts_label:
            raise UserError(
                f"a {type(model).__name__} gives one label, found by search:label; "
                f"got {type(self).__name__}, which would repeat the label"
            )

    @abstractmethod
    def init(self, limit: jax.Array, length: int, number: jax.Array) -> Any:
        """The state before the first word.

        Args:
            limit: the most words a sentence's hypotheses may have, END counted, int [B]. A row of
                limit 0 (filler) is finished from the beginning.
            length: L, the greatest length of any hypothesis; limits beyond it are cut to it.
            number: of each sentence, by which one that draws tells sentences apart, int [B].
        """

    @abstractmethod
    def advance(self, state: Any, logits: jax.Array, step: jax.Array) -> tuple[Any, jax.Array]:
        """The state after one more word, and which hypothesis each word continues, int [B, K].

        Args:
            state: before the word.
            logits: of the word, [B, K, V].
            step: how many words came before it, a scalar.
        """

    @abstractmethod
    def finalize(self, state: Any) -> Hypotheses:
        """The hypotheses of the sentences that are finished."""


def pick(leaf: jax.Array, index: jax.Array) -> jax.Array:
    """Entries of a leaf [B, K, ...] along axis 1, by an index [B, J]: [B, J, ...]."""
    return jnp.take_along_axis(leaf, index.reshape(index.shape + (1,) * (leaf.ndim - 2)), axis=1)
