"""The interfaces of a model to search."""

from abc import abstractmethod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import linen as nn
from jaxtyping import Array, Bool

from attnjax.attention.mask import Padding
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.base import SymbolModel, logits
from attnjax.models.shapes import Features, NextWord, Source, Step, Text, Words


class SequenceModel(SymbolModel, kw_only=True):
    """A model that a search can ask for one word after another, of K hypotheses of each sentence.

    A step reads and returns arrays of three kinds:

        constants   one per sentence, [B, ...]; no step changes them.
        cache       one per sentence, [B, ...]; a step appends the words of all K hypotheses.
        state       one per hypothesis, [B, K, ...]; the search keeps those that go on.

    Arrays that grow with the number of words are never copied from hypothesis to hypothesis: they
    stay in the cache, and the state says which cached words belong to the hypothesis.
    """

    predicts_label: ClassVar[bool] = False
    """Whether the target is a single label without END instead of a sentence."""

    @nn.nowrap
    def max_words(self, positions: Any) -> Any:
        """Return the longest allowed answer, END included, for a memory of `positions`, or None.

        Positions and limit are ints or arrays [B]; None: there is no limit.
        """
        limit = self.max_length("target")
        return None if limit is None else limit.words

    @abstractmethod
    def encode(self, source: Source, *, deterministic: bool) -> tuple[Any, Padding]:
        """Return the memory of a source and the mask of its positions."""

    @abstractmethod
    def start(self, memory: Any, mask: Padding, *, length: int, beams: int) -> tuple[Any, Any, Any]:
        """Return constants, cache and state before the first word, from what `encode` returns.

        There are K = `beams` hypotheses, and room for `length` words.
        """

    @abstractmethod
    def step(self, constants: Any, cache: Any, state: Any, word: Words, step: Step) -> NextWord:
        """Return the logits after each hypothesis' last word, before which came `step` words."""

    def grow_cache(self, cache: Any, state: Any, *, length: int) -> tuple[Any, Any]:
        """Enlarge the cache and the state for `length` words; by default there is no cache."""
        return cache, state


class LabelModel(SequenceModel, kw_only=True):
    """A model that gives a text one label; a target is one symbol, without END."""

    predicts_label = True
    limited = ("source",)

    @abstractmethod
    def label_features(self, source: Text, *, deterministic: bool) -> Features:
        """Return the hidden vector of a text, T = 1, and the labels' embedding."""

    def features(self, source: Source, decoder_input: Words, *, deterministic: bool) -> Features:
        """Return `label_features`; the decoder's input is START alone, which is not read."""
        if decoder_input.shape[1] != 1:
            raise UserError(
                f"a {type(self).__name__} gives one label to a text, so that a target must have "
                f"one symbol; got {decoder_input.shape[1]}"
            )
        return self.label_features(source, deterministic=deterministic)

    def encode(self, source: Text, *, deterministic: bool) -> tuple[Array, Padding]:
        """Return the label's logits [B, 1, V], and the mask of the words."""
        features = self.label_features(source, deterministic=deterministic)
        return logits(*features), Padding(source != PAD)

    def start(self, memory: Array, mask: Padding, *, length: int, beams: int) -> Any:
        """Return the label's logits; there is one step, so no cache and no state."""
        return memory, (), ()

    def step(self, constants: Array, cache: Any, state: Any, word: Words, step: Step) -> NextWord:
        return jnp.broadcast_to(constants, (*word.shape, constants.shape[-1])), cache, state


def repeat_beams(state: Any, beams: int) -> Any:
    """Repeat a state with leaves [B, ...] for each of K hypotheses: leaves [B, K, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], beams, axis=1), state)


def select_rows(chosen: Bool[Array, " B"], new: Any, old: Any) -> Any:
    """Return the new leaves [B, ...] in the chosen rows, the old ones in the others."""

    def select(new: Array, old: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *[1] * (old.ndim - 1)), new, old)

    return jax.tree.map(select, new, old)
