"""`Model` and `SequenceModel`: the interfaces of a model to training, search and measures."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.mask import Padding
from attnjax.data.corpus import Encoded
from attnjax.data.vocabularies import Side, Vocabularies
from attnjax.errors import UserError
from attnjax.models.sown_attention import LayerAttention
from attnjax.nn.initializers import Initializer, draw_parameters
from attnjax.nn.length_limit import MaxLength, smallest_limit


class Model(nn.Module, ABC, kw_only=True):
    """A model from a source and the input of its decoder to predictions.

    In an experiment a model is unbound: its fields are its configuration.

    Attributes:
        initializer: the distribution of all initial parameters; None: each part has its own.
    """

    initializer: Initializer | None = None

    @nn.nowrap
    def init(self, rngs: Any, *args: Any, **kwargs: Any) -> Any:
        """The variables of Linen's `init`, with parameters drawn by the model's initializer."""
        variables = super().init(rngs, *args, **kwargs)
        if self.initializer is None:
            return variables
        key = rngs["params"] if isinstance(rngs, Mapping) else rngs
        return {**variables, "params": draw_parameters(self.initializer, key, variables["params"])}

    @abstractmethod
    def __call__(
        self, source: jax.Array, decoder_input: jax.Array, *, deterministic: bool
    ) -> jax.Array:
        """Predictions [B, T, ...] from a source and the input of the decoder.

        Args:
            source: [B, S, ...].
            decoder_input: [B, T, ...]; for words, the target moved one position to the right.
            deterministic: whether to leave out dropout and everything else that is random.
        """

    @nn.nowrap
    @abstractmethod
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        """A copy of the model with the vocabulary sizes filled in; None: that side is not text.

        Raises:
            UserError: the model does not accept such data, or already has another size.
        """

    @nn.nowrap
    def fill(self, **sizes: Any) -> Self:
        """A copy of the model with sizes filled in, given as field=size.

        Raises:
            UserError: a field already has another value.
        """
        for name, size in sizes.items():
            given = getattr(self, name)
            if given not in (None, size):
                raise UserError(f"model.{name} is set from the data ({size}); remove the {given}")
        return self.clone(**sizes)

    @nn.nowrap
    def check_vocabularies(self, vocabularies: Vocabularies) -> None:
        """Refuse, before training, vocabularies that the model does not accept.

        Raises:
            UserError: the model needs other vocabularies.
        """
        del vocabularies

    @nn.nowrap
    def max_length(self, side: Side) -> MaxLength | None:
        """Maximum sentence length: learned positions and location scores have one per position.

        None: this side may have any length. By default the limits of all parts hold on both sides.
        """
        del side
        return smallest_limit({"model": self})

    @nn.nowrap
    def check_lengths(self, sentences: Sequence[Any], where: str, side: Side) -> None:
        """Refuse a sentence that is longer than the model allows.

        Args:
            sentences: the symbols of each, END counted.
            where: the sentences' origin in words, "of the test split".
            side: whether they are sources or targets.

        Raises:
            UserError: a sentence is too long; the message has the number of the first one.
        """
        limit = self.max_length(side)
        for number, symbols in enumerate(sentences, start=1):
            if limit is not None and len(symbols) > limit.words:
                raise UserError(
                    f"the {side} of sentence {number} {where} has {len(symbols)} symbols (END "
                    f"counted); the model takes at most {limit.words} ({limit.path})"
                )

    @nn.nowrap
    def check_examples(self, examples: Sequence[Encoded], where: str) -> None:
        """Refuse examples whose target does not fit their source; by default none.

        Args:
            examples: of a split.
            where: which they are, in words: "of the test split".

        Raises:
            UserError: the first such example, by its number.
        """
        del examples, where

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, decoder_input: jax.Array) -> jax.Array:
        """The weights [B, T, S] of the attention to the source, under teacher forcing.

        Args:
            params: the model's parameters.
            source: [B, S, ...].
            decoder_input: [B, T, ...].

        Raises:
            UserError: the model has no attention to the source, or the attention shows no weights.
        """
        raise UserError(
            f"an alignment needs attention to the source; {type(self).__name__} has none"
        )

    @nn.nowrap
    def sown_attention(self, params: Any, source: jax.Array, decoder_input: jax.Array) -> Any:
        """The collection "attention" sown by a teacher-forced pass without dropout."""
        _, sown = self.apply(
            {"params": params}, source, decoder_input, deterministic=True, mutable=["attention"]
        )
        return sown.get("attention", {})


class SequenceModel(Model):
    """A model that predicts a target word by word, or its one label.

    Training needs `features`: logits are hidden times output embedding. Search needs `encode`,
    `start` and `step`, for K hypotheses ("beams") of each sentence. A step reads and returns
    arrays of three kinds:

        constants   one per sentence; no step changes them. Leaves [B, ...].
        cache       one per sentence, shared by its hypotheses; a step appends the K new words.
                    Leaves [B, ...].
        state       one per hypothesis; the search keeps the states of the hypotheses that go on.
                    Leaves [B, K, ...].

    Arrays that grow with the number of words are never copied from hypothesis to hypothesis: they
    stay in the cache, and the state says which cached words belong to the hypothesis.
    """

    predicts_label: ClassVar[bool] = False
    """Whether the target is a single label without END instead of a sentence."""

    @nn.nowrap
    def max_words(self, places: Any) -> Any:
        """The most words of an answer, END counted; None: no limit.

        Args:
            places: how many places of the source the memory has, an int or int [B]; the more they
                are, the less words an answer may have.

        Returns:
            An int, or int [B].
        """
        del places
        limit = self.max_length("target")
        return None if limit is None else limit.words

    @abstractmethod
    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[Any, Padding]:
        """The memory of a source [B, S, ...] and the mask of its positions."""

    @abstractmethod
    def features(
        self, source: jax.Array, decoder_input: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """The hidden vectors [B, T, D] and the output embedding [V, D] whose product is the logits.

        Args:
            source: [B, S, ...].
            decoder_input: the target moved one position to the right, START first, [B, T].
            deterministic: whether to leave out dropout and everything else that is random.
        """

    @abstractmethod
    def start(self, memory: Any, mask: Padding, *, length: int, beams: int) -> tuple[Any, Any, Any]:
        """The constants, the cache and the state before the first word.

        Args:
            memory: the memory that `encode` returned.
            mask: the mask that `encode` returned.
            length: the number of words that the cache has room for.
            beams: K.

        Raises:
            UserError: `length` is more than the model's maximum sentence length.
        """

    @abstractmethod
    def step(
        self, constants: Any, cache: Any, state: Any, word: jax.Array, step: jax.Array
    ) -> tuple[jax.Array, Any, Any]:
        """The logits [B, K, V] of the next word, and the new cache and state.

        Args:
            constants: one per sentence.
            cache: one per sentence.
            state: one per hypothesis.
            word: the last word of each hypothesis, [B, K].
            step: the number of words before that word, a scalar; the same for all hypotheses.
        """

    def grow_cache(self, cache: Any, state: Any, *, length: int) -> tuple[Any, Any]:
        """The cache and the state, enlarged for `length` words.

        By default both are returned unchanged, as suits a model without a cache.

        Raises:
            UserError: `length` is more than the model's maximum sentence length.
        """
        del length
        return cache, state

    def __call__(
        self, source: jax.Array, decoder_input: jax.Array, *, deterministic: bool
    ) -> jax.Array:
        """The logits [B, T, V] of every word, under teacher forcing."""
        return logits(*self.features(source, decoder_input, deterministic=deterministic))

    @nn.nowrap
    def attentions(
        self, params: Any, source: jax.Array, decoder_input: jax.Array
    ) -> tuple[LayerAttention, ...]:
        """Weights, logits and mask of every attention of the model in a teacher-forced pass.

        The measure `Saturation` needs them. By default the tuple is empty.

        Args:
            params: the model's parameters.
            source: [B, S, ...].
            decoder_input: [B, T].
        """
        del params, source, decoder_input
        return ()


def repeat_beams(state: Any, beams: int) -> Any:
    """Repeat a state with leaves [B, ...] for each of K hypotheses: leaves [B, K, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], beams, axis=1), state)


def logits(hidden: jax.Array, output_embedding: jax.Array) -> jax.Array:
    """Hidden [..., T, D] times output embedding [V, D]: [..., T, V], in float32 or wider."""
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    return jnp.einsum("...td,vd->...tv", hidden, output_embedding, preferred_element_type=wide)
