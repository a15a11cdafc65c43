"""The interface of a classifier's encoder: the states of a text, and a query to them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
from flax import linen as nn

from attnjax.config.constraints import DropoutRate
from attnjax.models.sown_attention import LayerAttention


class EncodedText(NamedTuple):
    """The output of a text encoder.

    Attributes:
        states: the states of all words, [B, S, W].
        query: a vector for the whole text, [B, 1, W].
    """

    states: jax.Array
    query: jax.Array


class TextEncoder(nn.Module, ABC):
    """An encoder of texts for a classifier. A part: subclasses are chosen on the command line.

    Attributes:
        dropout: the rate; None means the model's.
    """

    dropout: DropoutRate | None = None

    @nn.nowrap
    @abstractmethod
    def state_width(self, width: int) -> int:
        """W, the width of the states of a text whose embeddings have this width."""

    @abstractmethod
    def read(self, x: jax.Array, present: jax.Array, *, deterministic: bool) -> EncodedText:
        """Embedded texts [B, S, D], present [B, S], True = a word -> their states and query."""

    @nn.nowrap
    def attentions_in(self, tree: Any, present: jax.Array) -> Iterable[LayerAttention]:
        """The encoder's own attentions; by default none.

        Args:
            tree: the model's collection "attention".
            present: booleans [B, S], True = a word.
        """
        del tree, present
        return ()
