"""The interfaces of a model: to measures, to training, and to search.

    Model           predictions from a source and the decoder's input; shows its attentions
    SymbolModel     predicts symbols of a vocabulary: `features`, which training needs
    SequenceModel   predicts them one at a time: `encode`, `start`, `step`, which search needs
    LabelModel      gives a text one label: `label_features`, from which the others follow

Each is a kind of the one above it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.mask import Padding
from attnjax.config.constraints import PositiveInt
from attnjax.data.corpus import Encoded
from attnjax.data.special_tokens import PAD
from attnjax.data.vocabularies import SIDES, Side, Vocabularies
from attnjax.errors import UserError
from attnjax.models.sown_attention import LayerAttention
from attnjax.nn.dtypes import wide
from attnjax.nn.initializers import Initializer, draw_parameters
from attnjax.nn.length_limit import MaxLength, smallest_limit

FIELDS: dict[Side, str] = {"source": "source_vocabulary", "target": "vocabulary"}
"""The field of a model that holds the size of a side's vocabulary."""


class Model(nn.Module, ABC, kw_only=True):
    """A model from a source and the input of its decoder to predictions.

    In an experiment a model is unbound: its fields are its configuration.

    Attributes:
        initializer: the distribution of all initial parameters; None: each part has its own.
    """

    text: ClassVar[tuple[Side, ...]] = SIDES
    """The sides that must have a vocabulary; the other may have one if the model has its field."""

    limited: ClassVar[tuple[Side, ...]] = SIDES
    """The sides whose length is limited by parts with a parameter for each position."""

    initializer: Initializer | None = None

    @property
    def one_vocabulary(self) -> bool:
        """Whether source and target must have the same vocabulary."""
        return False

    @nn.nowrap
    def init(self, rngs: Any, *args: Any, **kwargs: Any) -> Any:
        """The variables of Linen's `init`, with parameters drawn by the model's initializer.

        Raises:
            ValueError: the model has no vocabulary sizes yet.
        """
        sizes = [getattr(self, FIELDS[side], 1) for side in self.text]
        if sizes and not any(sizes):
            raise ValueError(
                f"a {type(self).__name__}'s vocabularies must be numbers before it is used: "
                "call with_vocabularies"
            )
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
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        """A copy of the model with the vocabulary sizes filled in; None: that side is not text.

        Raises:
            UserError: the data have other vocabularies, or a field already has another size.
        """
        sizes = dict(zip(FIELDS, (source, target), strict=True))
        sizes = {side: size for side, size in sizes.items() if size is not None}
        own = {side: name for side, name in FIELDS.items() if hasattr(self, name)}
        if not {*self.text} <= sizes.keys() <= {*self.text, *own}:
            raise UserError(
                f"{type(self).__name__} wants a vocabulary of "
                f"{' and '.join(self.text) or 'neither side'}; got {source} source and {target} "
                "target symbols"
            )
        if self.one_vocabulary and source != target:
            raise UserError(
                f"a {type(self).__name__} wants one vocabulary of both sides; got {source} source "
                f"and {target} target symbols"
            )
        filled: dict[str, Any] = {name: sizes[side] for side, name in own.items() if side in sizes}
        for name, size in filled.items():
            given = getattr(self, name)
            if given not in (None, size):
                raise UserError(f"model.{name} is set from the data ({size}); remove the {given}")
        return self.clone(**filled)

    @nn.nowrap
    def check_vocabularies(self, vocabularies: Vocabularies) -> None:
        """Refuse, before training, vocabularies that the model does not accept.

        Raises:
            UserError: the model wants one vocabulary of both sides, and they have one each.
        """
        if self.one_vocabulary and vocabularies.source != vocabularies.target:
            raise UserError(
                f"a {type(self).__name__} wants one vocabulary of both sides; the data have one "
                "each: give task.target_vocabulary:none (or --model.embeddings tied to a "
                "Transformer)"
            )

    @nn.nowrap
    def max_length(self, side: Side) -> MaxLength | None:
        """Maximum sentence length: learned positions and location scores have one per position.

        None: this side may have any length. By default all parts limit the sides in `limited`.
        """
        return smallest_limit({"model": self}) if side in self.limited else None

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
        """The weights [B, T, S] of the last attention to the source, the mean over its heads.

        Args:
            params: the model's parameters.
            source: [B, S, ...].
            decoder_input: [B, T, ...], under teacher forcing.

        Raises:
            UserError: no attention to the source shows its weights.
        """
        attentions = self.attentions(params, source, decoder_input)
        weights = [attention.weights for attention in attentions if attention.to_source]
        if not weights:
            raise UserError(
                "an alignment needs attention to the source that shows its weights; this "
                f"{type(self).__name__} has none"
            )
        return weights[-1].mean(1)

    @nn.nowrap
    def attentions(
        self, params: Any, source: jax.Array, decoder_input: jax.Array
    ) -> tuple[LayerAttention, ...]:
        """Weights, logits and mask of the model's attentions in a teacher-forced pass."""
        tree = self.sown_attention(params, source, decoder_input)
        return tuple(self.attentions_in(tree, source, decoder_input))

    @nn.nowrap
    def attentions_in(
        self, tree: Any, source: jax.Array, decoder_input: jax.Array
    ) -> Iterable[LayerAttention]:
        """The attentions that the model has sown, from below; by default none are known.

        Args:
            tree: the collection "attention" of a pass.
            source: the source of that pass, [B, S, ...].
            decoder_input: the input of its decoder, [B, T, ...].
        """
        del tree, source, decoder_input
        return ()

    @nn.nowrap
    def sown_attention(self, params: Any, source: jax.Array, decoder_input: jax.Array) -> Any:
        """The collection "attention" sown by a teacher-forced pass without dropout."""
        _, sown = self.apply(
            {"params": params}, source, decoder_input, deterministic=True, mutable=["attention"]
        )
        return sown.get("attention", {})


class SymbolModel(Model, kw_only=True):
    """p(symbol) = softmax(hidden vector times output embedding), for each symbol of the target.

    Training asks for nothing but `features`.

    Attributes:
        vocabulary: the number of symbols of the target; None until the data is read.
    """

    vocabulary: PositiveInt | None = None

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

    def __call__(
        self, source: jax.Array, decoder_input: jax.Array, *, deterministic: bool
    ) -> jax.Array:
        """The logits [B, T, V] of every symbol, under teacher forcing."""
        return logits(*self.features(source, decoder_input, deterministic=deterministic))


class SequenceModel(SymbolModel, kw_only=True):
    """A model that a search can ask for one word after another.

    `encode`, `start` and `step` are for K hypotheses ("beams") of each sentence. A step reads and
    returns arrays of three kinds:

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


class LabelModel(SequenceModel, kw_only=True):
    """A model that gives a text one label; a target is one symbol, without END.

    The search `Label` asks for that one symbol: its logits are computed once, by `encode`.
    """

    predicts_label = True
    limited = ("source",)

    @abstractmethod
    def label_features(
        self, source: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """The hidden vector [B, 1, D] of a text [B, S] and the labels' embedding [V, D]."""

    def features(
        self, source: jax.Array, decoder_input: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """As `label_features`; the decoder's input is START alone, and its value is not used.

        Raises:
            UserError: the target is not one symbol.
        """
        if decoder_input.shape[1] != 1:
            raise UserError(
                f"a {type(self).__name__} gives one label to a text, so that a target must have "
                f"one symbol; got {decoder_input.shape[1]}"
            )
        return self.label_features(source, deterministic=deterministic)

    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[jax.Array, Padding]:
        """The label's logits [B, 1, V], and the mask of the words."""
        features = self.label_features(source, deterministic=deterministic)
        return logits(*features), Padding(source != PAD)

    def start(self, memory: jax.Array, mask: Padding, *, length: int, beams: int) -> Any:
        """The label's logits; no cache and no state, for there is one step."""
        del mask, length, beams
        return memory, (), ()

    def step(
        self, constants: jax.Array, cache: Any, state: Any, word: jax.Array, step: jax.Array
    ) -> tuple[jax.Array, Any, Any]:
        """The label's logits, [B, K, V], whatever the word [B, K]."""
        del step
        return jnp.broadcast_to(constants, (*word.shape, constants.shape[-1])), cache, state


def repeat_beams(state: Any, beams: int) -> Any:
    """Repeat a state with leaves [B, ...] for each of K hypotheses: leaves [B, K, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], beams, axis=1), state)


def logits(hidden: jax.Array, output_embedding: jax.Array) -> jax.Array:
    """Hidden [..., T, D] times output embedding [V, D]: [..., T, V], in float32 or wider."""
    return jnp.einsum(
        "...td,vd->...tv", hidden, output_embedding, preferred_element_type=wide(hidden)
    )
