"""What every model is, so that experiments, search and measures need to know no more."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.mask import Padding
from attnjax.data.special_tokens import END, PAD
from attnjax.data.vocabularies import Side, Vocabularies
from attnjax.errors import UserError
from attnjax.nn.initializers import Initializer, draw_parameters
from attnjax.nn.length_limit import MaxLength, smallest_limit


class LayerAttention(NamedTuple):
    """What one attention of a model computed: H heads, T queries, S keys.

    Attributes:
        name: the attention's path in the model.
        weights: [B, H, T, S].
        logits: [B, H, T, S]; None: the attention has none.
        mask: booleans that broadcast to [B, H, T, S], True = the query is not padding and may
            attend to the key.
    """

    name: str
    weights: jax.Array
    logits: jax.Array | None
    mask: jax.Array


class Model(nn.Module, ABC, kw_only=True):
    """A model from a source and the input of its decoder to predictions.

    In an experiment a model is unbound: its fields are its configuration.

    Attributes:
        initializer: what `init` draws all parameters from; None: each part draws its own.
    """

    initializer: Initializer | None = None

    @nn.nowrap
    def init(self, rngs: Any, *args: Any, **kwargs: Any) -> Any:
        """The first variables, as Linen's `init` gives them, drawn by the model's initializer."""
        variables = super().init(rngs, *args, **kwargs)
        if self.initializer is None:
            return variables
        key = rngs["params"] if isinstance(rngs, Mapping) else rngs
        return {**variables, "params": draw_parameters(self.initializer, key, variables["params"])}

    @abstractmethod
    def __call__(
        self, source: jax.Array, decoder_input: jax.Array, *, deterministic: bool
    ) -> jax.Array:
        """Predictions [B, T, ...] from a source [B, S, ...] and what is known of the target.

        Args:
            source: [B, S, ...].
            decoder_input: [B, T, ...]; of words, the target moved one position to the right.
            deterministic: whether to leave out dropout and all else that is random.
        """

    @nn.nowrap
    @abstractmethod
    def with_vocabularies(self, source: int | None, target: int | None) -> Self:
        """A copy of the model with the vocabulary sizes filled in; None: that side is not text.

        Raises:
            UserError: the model cannot take such data, or has another size already.
        """

    @nn.nowrap
    def fill(self, **sizes: Any) -> Self:
        """A copy of the model with the sizes filled in, each by the name of its field.

        Raises:
            UserError: a field has another value already.
        """
        for name, size in sizes.items():
            given = getattr(self, name)
            if given not in (None, size):
                raise UserError(f"model.{name} is set from the data ({size}); remove the {given}")
        return self.clone(**sizes)

    @nn.nowrap
    def check_vocabularies(self, vocabularies: Vocabularies) -> None:
        """Refuse, before anything is trained, vocabularies that the model cannot take.

        Raises:
            UserError: the model wants other vocabularies.
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
            where: which sentences they are, in words: "of the test split".
            side: whether they are sources or targets.

        Raises:
            UserError: the first sentence that is too long, by its number.
        """
        limit = self.max_length(side)
        for number, symbols in enumerate(sentences, start=1):
            if limit is not None and len(symbols) > limit.words:
                raise UserError(
                    f"the {side} of sentence {number} {where} has {len(symbols)} symbols (END "
                    f"counted); the model takes at most {limit.words} ({limit.path})"
                )

    @nn.nowrap
    def alignment(self, params: Any, source: jax.Array, decoder_input: jax.Array) -> jax.Array:
        """The weights [B, T, S] of the attention to the source, under teacher forcing.

        Args:
            params: the model's parameters.
            source: [B, S, ...].
            decoder_input: [B, T, ...].

        Raises:
            UserError: the model has no attention to the source, or does not show its weights.
        """
        raise UserError(
            f"an alignment wants attention to the source; {type(self).__name__} has none"
        )

    @nn.nowrap
    def sown_attention(self, params: Any, source: jax.Array, decoder_input: jax.Array) -> Any:
        """The collection "attention" that a teacher-forced pass without dropout sows."""
        _, sown = self.apply(
            {"params": params}, source, decoder_input, deterministic=True, mutable=["attention"]
        )
        return sown.get("attention", {})


class SequenceModel(Model):
    """A model that predicts a target word by word, or its one label.

    Training needs `features`: logits are hidden times output embedding. Search needs `encode`,
    `start` and `step`, for K hypotheses ("beams") of each sentence. What a step reads and changes
    is of three kinds:

        constants   one per sentence; no step changes them. Leaves [B, ...].
        cache       one per sentence, shared by its hypotheses; a step appends the K new words.
                    Leaves [B, ...].
        state       one per hypothesis; the search keeps the states of the hypotheses that go on.
                    Leaves [B, K, ...].

    So what grows with the number of words is never copied from hypothesis to hypothesis: it stays
    in the cache, and the state says which of the cached words are the hypothesis' own.
    """

    predicts_label: ClassVar[bool] = False
    """Whether the target is one label, without END, and not a sentence."""

    @abstractmethod
    def encode(self, source: jax.Array, *, deterministic: bool) -> tuple[Any, Padding]:
        """The memory of a source [B, S, ...], and the mask of its positions."""

    @abstractmethod
    def features(
        self, source: jax.Array, decoder_input: jax.Array, *, deterministic: bool
    ) -> tuple[jax.Array, jax.Array]:
        """The hidden vectors [B, T, D] and the output embedding [V, D] whose product is the logits.

        Args:
            source: [B, S, ...].
            decoder_input: the target moved one position to the right, START first, [B, T].
            deterministic: whether to leave out dropout and all else that is random.
        """

    @abstractmethod
    def start(self, memory: Any, mask: Padding, *, length: int, beams: int) -> tuple[Any, Any, Any]:
        """The constants, the cache and the state before the first word.

        Args:
            memory: what `encode` returned.
            mask: likewise.
            length: how many words the cache has room for.
            beams: K.

        Raises:
            UserError: the model takes fewer words than `length`.
        """

    @abstractmethod
    def step(
        self, constants: Any, cache: Any, state: Any, word: jax.Array, step: jax.Array
    ) -> tuple[jax.Array, Any, Any]:
        """The logits [B, K, V] of the next word, the cache and the state after this one.

        Args:
            constants: one per sentence.
            cache: one per sentence.
            state: one per hypothesis.
            word: the last word of each hypothesis, [B, K].
            step: how many words came before it, a scalar; the same for all hypotheses.
        """

    def grow_cache(self, cache: Any, state: Any, *, length: int) -> tuple[Any, Any]:
        """The cache and the state with room for `length` words, which is more than before.

        By default both stay as they are: a model without a cache.

        Raises:
            UserError: the model takes fewer words than `length`.
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
        """Every attention of the model in a teacher-forced pass, and where each may look.

        By default none: a model that names its attentions can be measured by `Saturation`.

        Args:
            params: the model's parameters.
            source: [B, S, ...].
            decoder_input: [B, T].
        """
        del params, source, decoder_input
        return ()


def repeat_beams(state: Any, beams: int) -> Any:
    """A state with leaves [B, ...], repeated for each of K hypotheses: leaves [B, K, ...]."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], beams, axis=1), state)


def logits(hidden: jax.Array, output_embedding: jax.Array) -> jax.Array:
    """Hidden [..., T, D] times output embedding [V, D]: [..., T, V], in float32 or wider."""
    wide = jnp.promote_types(hidden.dtype, jnp.float32)
    return jnp.einsum("...td,vd->...tv", hidden, output_embedding, preferred_element_type=wide)


def queries_of(decoder_input: jax.Array, present: jax.Array) -> jax.Array:
    """Which inputs [B, T] predict a word of the target, booleans.

    END is an input only after the target's end. A row without a source, where `present` [B, S] is
    False, is filler, though it has START.
    """
    predicts = (decoder_input != PAD) & (decoder_input != END)
    return predicts & present.any(1, keepdims=True)


def pairs(queries: jax.Array, keys: jax.Array) -> jax.Array:
    """Booleans [B, 1, T, S] of the pairs of queries [B, T] and keys [B, S] that are both there."""
    return queries[:, None, :, None] & keys[:, None, None, :]


def layer_attentions(
    tree: Any, mask: jax.Array, *path: str, by_step: bool = False
) -> Iterator[LayerAttention]:
    """Every attention below a path of the sown collection "attention", in the order of the tree.

    Args:
        tree: the collection.
        mask: of these attentions, see `LayerAttention`.
        path: where to look.
        by_step: whether the arrays are stacked by a scan over time, [B, T, ..., 1, S], and not
            computed at once, [B, ..., T, S].
    """
    below = tree
    for name in path:
        below = below.get(name, {})
    if "weights" in below:
        arrays = {name: _heads_first(values[0], by_step) for name, values in below.items()}
        yield LayerAttention(".".join(path), arrays["weights"], arrays.get("logits"), mask)
        return
    for name in below:
        yield from layer_attentions(tree, mask, *path, name, by_step=by_step)


def _heads_first(array: jax.Array, by_step: bool) -> jax.Array:
    """Sown weights or logits as [B, H, T, S]; without heads H is 1."""
    batch, steps, keys = array.shape[0], array.shape[1], array.shape[-1]
    if by_step:
        return array.reshape(batch, steps, -1, keys).swapaxes(1, 2)
    return array.reshape(batch, -1, *array.shape[-2:])


def sown(tree: Any, *path: str) -> jax.Array:
    """The weights that the one attention below a path has sown.

    Args:
        tree: the collection "attention".
        path: where to look.

    Raises:
        UserError: there is no such attention, or more than one.
    """
    for name in path:
        tree = tree.get(name, {})
    found = [values[0] for name, values in _leaves(tree) if name == "weights"]
    if len(found) != 1:
        where = f" at {'.'.join(path)}" if path else ""
        raise UserError(
            "an alignment wants one attention to the source that shows its weights; "
            f"there are {len(found)}{where}"
        )
    return found[0]


def _leaves(tree: Any) -> Iterator[tuple[str, Any]]:
    for name, below in tree.items():
        if isinstance(below, tuple):
            yield name, below
        else:
            yield from _leaves(below)
