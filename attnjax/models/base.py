"""The interfaces of a model to measures and to training; `sequence_model` has those to search."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from jaxtyping import Array, Float, Int

from attnjax.attention.attention import Mixer
from attnjax.config.constraints import PositiveInt
from attnjax.config.walk import walk
from attnjax.data.examples import Examples
from attnjax.data.vocabularies import SIDES, Side, Vocabularies
from attnjax.errors import UserError
from attnjax.models.shapes import Features, Source, Text, Words
from attnjax.models.sown_attention import Attentions, LayerAttention
from attnjax.nn.dtypes import wide
from attnjax.nn.initializers import Initializer, draw_parameters
from attnjax.nn.length_limit import MaxLength, smallest_limit
from attnjax.nn.parameter_kinds import Kind, declare
from attnjax.nn.product import product

declare(Kind.UNDECAYED, "word_bias")  # of the logits of words

FIELDS: dict[Side, str] = {"source": "source_vocabulary", "target": "vocabulary"}
"""The field of a model that holds the size of a side's vocabulary."""


class Model(nn.Module, ABC, kw_only=True):
    """A model from a source and the input of its decoder to predictions; it shows its attentions.

    Attributes:
        initializer: the distribution of all initial parameters; None: each part has its own.
    """

    text: ClassVar[tuple[Side, ...]] = SIDES
    """The sides that must have a vocabulary; the other may have one if the model has its field."""

    limited: ClassVar[tuple[Side, ...]] = SIDES
    """The sides whose length is limited by parts with a parameter for each position."""

    one_vocabulary: ClassVar[bool] = False
    """Whether source and target must have the same vocabulary."""

    gives_labels: ClassVar[bool] = False
    """Whether the model gives labels to words of a source, as a task of `LabeledPlaces` asks."""

    initializer: Initializer | None = None

    @nn.nowrap
    def init(self, rngs: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the variables of Linen's `init`, with parameters drawn by the model's initializer.

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
    def __call__(self, source: Source, decoder_input: Array, *, deterministic: bool) -> Array:
        """Return predictions [B, T, ...]; a deterministic call leaves out all that is random.

        The input of a decoder of words is the target moved one position to the right, START first.
        """

    @nn.nowrap
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        """Copy the model with the vocabulary sizes filled in; None: that side is not text."""
        both = zip(SIDES, (source, target), strict=True)
        sizes = {side: size for side, size in both if size is not None}
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
        """Refuse, before training, vocabularies that the model does not accept."""
        if self.one_vocabulary and vocabularies.source != vocabularies.target:
            raise UserError(
                f"a {type(self).__name__} wants one vocabulary of both sides; the data have one "
                "each: give task.target_vocabulary:none (or --model.embeddings tied to a "
                "Transformer)"
            )

    @nn.nowrap
    def max_length(self, side: Side) -> MaxLength | None:
        """Return the maximum sentence length, or None; any part limits the `limited` sides."""
        return smallest_limit({"model": self}) if side in self.limited else None

    @nn.nowrap
    def check_lengths(self, lengths: Sequence[int] | np.ndarray, where: str, side: Side) -> None:
        """Refuse a sentence too long, END counted; `where` says whose: "of the test split"."""
        limit = self.max_length(side)
        if limit is None:
            return
        for index in np.flatnonzero(np.asarray(lengths) > limit.words)[:1]:
            raise UserError(
                f"the {side} of sentence {index + 1} {where} has {lengths[index]} symbols (END "
                f"counted); the model takes at most {limit.words} ({limit.path})"
            )

    @nn.nowrap
    def check_examples(self, examples: Examples, where: str) -> None:
        """Refuse examples whose target does not fit their source; by default none."""

    @nn.nowrap
    def alignment(self, params: Any, source: Source, decoder_input: Array) -> Array:
        """Return the weights [B, T, S] of the last attention to the source, averaged over heads.

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
        self, params: Any, source: Source, decoder_input: Array
    ) -> tuple[LayerAttention, ...]:
        """Return weights, logits and mask of the model's attentions in a teacher-forced pass."""
        tree = self.sown_attention(params, source, decoder_input)
        return tuple(self.attentions_in(tree, source, decoder_input))

    @nn.nowrap
    def attentions_in(self, tree: Any, source: Source, decoder_input: Array) -> Attentions:
        """Return the attentions in the collection "attention", from below; by default none."""
        return ()

    @nn.nowrap
    def sown_attention(self, params: Any, source: Source, decoder_input: Array) -> Any:
        """Return the collection "attention" sown by a teacher-forced pass without dropout."""
        _, sown = self.apply(
            {"params": params}, source, decoder_input, deterministic=True, mutable=["attention"]
        )
        return sown.get("attention", {})


class PackingModel(Model, kw_only=True):
    """A model whose `features` read rows of several sentences, each of them alone.

    Losses and gradients are those of the same sentences in rows of their own.
    """

    @nn.nowrap
    def row_length(self, length: int) -> int:
        """Return how many positions of a packed row, with `length` a side, the model reads."""
        return length

    @nn.nowrap
    def check_packing(self, length: int) -> None:
        """Refuse packed rows of this length that the model or one of its parts cannot read."""
        for path, part in walk(self, "model"):
            if isinstance(part, Mixer) and not part.packs:
                raise UserError(
                    f"{path} is a {type(part).__name__}, which would mix the sentences of a packed "
                    "row: choose another, or --training.batching:batching"
                )
        limit, positions = smallest_limit({"model": self}), self.row_length(length)
        if limit is not None and positions > limit.words:
            raise UserError(
                f"a packed row of training.batching.length={length} has {positions} positions, "
                f"more than the {limit.words} of {limit.path}: choose shorter rows or a larger "
                f"{limit.path}"
            )


class SymbolModel(Model, kw_only=True):
    """p(symbol) = softmax(hidden vector times output embedding), for each symbol of the target.

    Attributes:
        vocabulary: the number of symbols of the target; None until the data is read.
    """

    vocabulary: PositiveInt | None = None

    @abstractmethod
    def features(self, source: Source, decoder_input: Words, *, deterministic: bool) -> Features:
        """Return the factors of the logits; a `PackingModel` takes `packing`, of packed rows."""

    def __call__(self, source: Source, decoder_input: Words, *, deterministic: bool) -> Array:
        """Return the logits [B, T, V] of every symbol, under teacher forcing."""
        return logits(*self.features(source, decoder_input, deterministic=deterministic))


WordPositions = Int[Array, "B N"]
"""The positions of the words to predict; each is below S."""


class Predictions(NamedTuple):
    """The words at the given positions, and the label of the whole source, if there is a head."""

    words: Features
    label: Features | None


class MaskedWordModel(Model):
    """A model that predicts words of its source from the words on both sides of them.

    The id `source_vocabulary` stands for a masked word, see `attnjax.data.special_tokens`.
    """

    source_vocabulary: PositiveInt | None = None

    @abstractmethod
    def predict(
        self, source: Text, positions: WordPositions, *, deterministic: bool
    ) -> Predictions:
        """Predict the words at some positions of a source, and the label of the source."""


def at_base_width(hidden: Float[Array, "*B D"], base_width: int | None) -> Float[Array, "*B D"]:
    """Return hidden D_0 / D, whose logits grow with no width D; None: the vectors as they are.

    Source: Yang et al. 2022, Table 8: the multiplier of the output.
    """
    if base_width is None:
        return hidden
    return hidden * jnp.asarray(base_width / hidden.shape[-1], hidden.dtype)


def logits(
    hidden: Float[Array, "*B T D"], output_embedding: Float[Array, "V D"]
) -> Float[Array, "*B T V"]:
    """Multiply hidden vectors by the output embedding, in float32 or wider."""
    return product("td,vd->tv", hidden, output_embedding, wide(hidden))


def with_bias(hidden: Array, table: Array, bias: Float[Array, " V"]) -> Features:
    """Append a column of ones to hidden vectors, and one of biases to a table.

    Training takes logits as a product: here it is hidden table^T + bias.
    """
    ones = jnp.ones((*hidden.shape[:-1], 1), hidden.dtype)
    return jnp.concatenate([hidden, ones], -1), jnp.concatenate([table, bias[:, None]], -1)
