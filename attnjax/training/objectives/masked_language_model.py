"""The objective of BERT's pre-training: words hidden from the model, and the label of a text."""

from dataclasses import dataclass
from math import ceil
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Gt, Le

from attnjax.config.constraints import NonNegativeFloat
from attnjax.data.special_tokens import END, PAD, UNKNOWN, mask_symbol
from attnjax.errors import UserError
from attnjax.models.base import MaskedWordModel, Predictions
from attnjax.nn.counter_hash import bits, uniform
from attnjax.training.objectives.base import Key, Objective, Totals, streams
from attnjax.training.objectives.cross_entropy import cross_entropy

# the shares of the chosen words that become MASK and a random word; the others stay
MASKED, RANDOM = 0.8, 0.1

type Rate = Annotated[float, Gt(0), Le(1)]


class MaskedSource(NamedTuple):
    """A source with words chosen to be predicted."""

    source: jax.Array  # [B, S], with MASK and random words
    positions: jax.Array  # of the chosen words, integers [B, N] below S
    words: jax.Array  # the chosen words [B, N]; PAD where a row has fewer than N


def mask_words(key: jax.Array, source: jax.Array, vocabulary: int, rate: float) -> MaskedSource:
    """Choose words of a source to be predicted, and hide most of the chosen words.

    Of a row with n words, END and PAD not counted, max(1, round(rate n)) are chosen; of those 80 %
    become MASK and 10 % a random word. What is drawn for a word depends on the key, the number of
    the example and the word's place, and on no shape.

    Source: Devlin et al. 2019, section 3.1, task 1 and appendix A.1; at least one word a row, as in
        the authors' program.
    """
    word = (source != PAD) & (source != END)
    count = word.sum(1, keepdims=True)
    wanted = jnp.where(count > 0, jnp.maximum(jnp.round(rate * count), 1), 0)
    most = min(source.shape[1], max(1, ceil(rate * source.shape[1])))
    order = jnp.where(word, uniform(key, source.shape), -1.0)
    positions = jax.lax.top_k(order, most)[1]
    chosen = jnp.broadcast_to(jnp.arange(most)[None], positions.shape) < wanted
    words = jnp.where(chosen, jnp.take_along_axis(source, positions, axis=1), PAD)

    draw = jnp.take_along_axis(uniform(jax.random.fold_in(key, 1), source.shape), positions, axis=1)
    number = bits(jax.random.fold_in(key, 2), source.shape) % np.uint32(vocabulary - UNKNOWN - 1)
    other = UNKNOWN + 1 + jnp.take_along_axis(number, positions, axis=1).astype(source.dtype)
    shown = jnp.where(draw < MASKED + RANDOM, other, words)
    shown = jnp.where(draw < MASKED, mask_symbol(vocabulary), shown)
    shown = jnp.where(chosen, shown, jnp.take_along_axis(source, positions, axis=1))
    hidden = jnp.put_along_axis(source, positions, shown.astype(source.dtype), 1, inplace=False)
    return MaskedSource(hidden, positions, words)


@dataclass(frozen=True, kw_only=True)
class MaskedLanguageModel(Objective):
    """The cross entropy of words that are hidden from the model, see `mask_words`.

        loss = sum over chosen words of -log p(word) + next_sentence sum over texts of -log p(label)

    divided by the number of chosen words. Gives "loss", "nll" and "accuracy" of the words, and,
    where labels are trained, "label_nll" and "label_accuracy", all in nats or shares. In validation
    the same positions are hidden every time.

    Attributes:
        rate: the share of words that are chosen.
        next_sentence: how many words the label of a text weighs; 0: labels are not trained. BERT's
            sum of both means weighs it as many as are chosen in a text.

    Source: Devlin et al. 2019, section 3.1.
    """

    rate: Rate = 0.15
    next_sentence: NonNegativeFloat = 0.0

    def check(self, model: Any) -> None:
        if not isinstance(model, MaskedWordModel):
            raise UserError(
                "MaskedLanguageModel wants a model that predicts words of its source, such as "
                f"BertPretraining; got {type(model).__name__}"
            )
        if self.next_sentence and model.vocabulary is None:
            raise UserError(
                f"objective.next_sentence={self.next_sentence} wants a task with labels, such as "
                "SentencePairs; the task has none"
            )

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        drawn = jax.random.key(0) if key is None else jax.random.fold_in(key, 4)
        masked = mask_words(drawn, batch.source, model.source_vocabulary, self.rate)
        predictions: Predictions = model.apply(
            {"params": params},
            masked.source,
            masked.positions,
            deterministic=key is None,
            rngs=streams(key),
            method="predict",
        )
        words = cross_entropy(*predictions.words, masked.words, smoothing=0.0)
        if not self.next_sentence or predictions.label is None:
            return words
        label = cross_entropy(*predictions.label, batch.target, smoothing=0.0)
        loss, count = words["loss"]
        return words | {
            "loss": (loss + self.next_sentence * label["loss"][0], count),
            "label_nll": label["nll"],
            "label_accuracy": label["accuracy"],
        }
