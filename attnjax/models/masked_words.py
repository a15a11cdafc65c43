"""The interface of masked language models, which predict words of their source."""

from abc import abstractmethod
from typing import NamedTuple

import jax

from attnjax.config.constraints import PositiveInt
from attnjax.models.base import Model

type Product = tuple[jax.Array, jax.Array]
"""Hidden vectors [B, T, D] and the output embedding [V, D], whose product is the logits."""


class Predictions(NamedTuple):
    """The predictions of a pass over a source.

    Attributes:
        words: the words at the given places [B, N].
        label: the label of the whole source, T = 1; None: the model has no head for labels.
    """

    words: Product
    label: Product | None


class MaskedWordModel(Model):
    """A model that predicts words of its source from the words on both sides of them.

    The vocabulary of the source is known as `source_vocabulary`, V; the id V stands for a masked
    word, see `attnjax.data.special_tokens`.
    """

    source_vocabulary: PositiveInt | None = None

    @abstractmethod
    def predict(self, source: jax.Array, places: jax.Array, *, deterministic: bool) -> Predictions:
        """Predict the words at some places of a source, and the label of the source.

        Args:
            source: [B, S], with the id V where a word is masked.
            places: of the words to predict, integers [B, N] below S.
            deterministic: whether to leave out dropout and all else that is random.
        """
