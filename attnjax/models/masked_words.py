"""The interface of masked language models, which predict words of their source."""

from abc import abstractmethod
from typing import NamedTuple

from jaxtyping import Array, Int

from attnjax.config.constraints import PositiveInt
from attnjax.models.base import Model
from attnjax.models.shapes import Features, Text

Places = Int[Array, "B N"]
"""The places of the words to predict; each is below S."""


class Predictions(NamedTuple):
    """The words at the given places, and the label of the whole source, T = 1.

    The label is None if the model has no head for labels.
    """

    words: Features
    label: Features | None


class MaskedWordModel(Model):
    """A model that predicts words of its source from the words on both sides of them.

    The vocabulary of the source is known as `source_vocabulary`, V; the id V stands for a masked
    word, see `attnjax.data.special_tokens`.
    """

    source_vocabulary: PositiveInt | None = None

    @abstractmethod
    def predict(self, source: Text, places: Places, *, deterministic: bool) -> Predictions:
        """Predict the words at some places of a source, and the label of the source."""
