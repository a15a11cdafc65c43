"""The interface of a classifier's encoder: the states of a text, and a query to them."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.config.constraints import DropoutRate
from attnjax.models.shapes import Embedded, Present, Text
from attnjax.models.sown_attention import Attentions


class EncodedText(NamedTuple):
    """The states of all words, and a query: a vector for the whole text."""

    states: Float[Array, "B S W"]
    query: Float[Array, "B 1 W"]


class TextEncoder(nn.Module, ABC):
    """An encoder of texts for a classifier; a dropout of None means the model's."""

    dropout: DropoutRate | None = None

    @nn.nowrap
    @abstractmethod
    def state_width(self, width: int) -> int:
        """Return W, the width of the states of a text whose embeddings have this width."""

    @abstractmethod
    def read(self, x: Embedded, present: Present, *, deterministic: bool) -> EncodedText:
        """Return the states and the query of embedded texts."""

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Text) -> Attentions:
        """Return the encoder's part of the model's collection "attention"; by default nothing."""
        return ()
