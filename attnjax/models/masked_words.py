"""What a masked language model predicts: words of its source, and perhaps the source's label."""

from abc import abstractmethod
from typing import NamedTuple

import jax

from attnjax.config.constraints import PositiveInt
from attnjax.models.base import SequenceModel

type Product = tuple[jax.Array, jax.Array]
"""Hidden vectors [B, T, D] and the output embedding [V, D], whose product is the logits."""


class Predictions(NamedTuple):
    """What a pass over a source predicts.

    Attributes:
        words: of the asked places [B, N].
        label: of the whole source, T = 1; None: the model has no head for labels.
    """

    words: Product
    label: Product | None


class MaskedWordModel(SequenceModel):
    """A model that predicts words of its source from the words on both sides of them.

    The vocabulary of the source is known as `source_vocabulary`, V; the id V stands for a masked
    word, see `attnjax.data.special_tokens`.
    """

    source_vocabulary: PositiveInt | None = None

    @abstractmethod
    def predict(self, source: jax.Array, places: jax.Array, *, deterministic: bool) -> Predictions:
        """The words at some places of a source, and its label.

        Args:
            source: [B, S], with the id V where a word is masked.
            places: of the words to predict, integers [B, N] below S.
            deterministic: whether to leave out dropout and all else that is random.
        """
