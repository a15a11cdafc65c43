"""Attention weights that a model has sown, as arrays [B, H, T, S], and the mask of each."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from jaxtyping import Array, Bool, Float, Int

from attnjax.data.special_tokens import END, PAD
from attnjax.models.shapes import Present, Words

type WordKind = Literal["target", "inputs", "source", "read"]
"""The target's words, each where it is predicted, the decoder's inputs, the source's words, or
another text that the model reads, such as source and target in one."""

HEAD = ".head"
"""The end of the path of weights whose heads were computed by one module."""

type QueryKeyWords = tuple[Words | None, Int[Array, "B S"] | None]


class LayerAttention(NamedTuple):
    """Weights, logits and mask of one attention of a model: H heads, T queries, S keys.

    Attributes:
        name: the attention's path in the model; the module of its heads is left out.
        mask: True = the query is not padding and may attend to the key.
        to_source: whether the target's words attend to the source.
        words: the ids of queries and keys; None: they are no text. A query is named by the word
            that it reads, and may predict the next one.
    """

    name: str
    weights: Float[Array, "B H T S"]
    logits: Float[Array, "B H T S"] | None
    mask: Bool[Array, "#B #H T S"]
    to_source: bool = False
    words: QueryKeyWords = (None, None)

    def kinds(self, source: Any, decoder_input: Any) -> tuple[WordKind, WordKind]:
        """Return what queries and keys are, by the arrays that the model was given."""
        queries, keys = self.words
        known: dict[int, WordKind] = {id(decoder_input): "inputs", id(source): "source"}
        known[id(None)] = "source"
        rows, columns = known.get(id(queries), "read"), known.get(id(keys), "read")
        predicted = queries is None or (self.to_source and rows == "inputs")
        return "target" if predicted else rows, columns


type Attentions = Iterable[LayerAttention]


def queries_of(decoder_input: Words, present: Present) -> Bool[Array, "B T"]:
    """Return the decoder inputs whose next word belongs to the target: not END, which is its end.

    A row whose source is empty (none of it is `present`) fills up the batch and predicts nothing.
    """
    predicting = (decoder_input != PAD) & (decoder_input != END)
    return predicting & present.any(1, keepdims=True)


def pairs(queries: Bool[Array, "B T"], keys: Bool[Array, "B S"]) -> Bool[Array, "B 1 T S"]:
    """Return whether query and key are both present."""
    return queries[:, None, :, None] & keys[:, None, None, :]


def layer_attentions(
    tree: Any,
    mask: Array,
    *path: str,
    words: QueryKeyWords,
    by_step: bool = False,
    to_source: bool = False,
) -> Iterator[LayerAttention]:
    """Yield every attention below a path of the sown collection "attention", in its order.

    With `by_step` a scan over time has stacked the arrays, [B, T, ..., 1, S]; else they were
    computed at once, [B, ..., T, S].
    """
    below = tree
    for name in path:
        below = below.get(name, {})
    if "weights" in below:
        arrays = {name: _heads_first(values[0], by_step) for name, values in below.items()}
        weights, logits = arrays["weights"], arrays.get("logits")
        name = ".".join(path).removesuffix(HEAD)
        yield LayerAttention(name, weights, logits, mask, to_source, words)
        return
    for name in below:
        yield from layer_attentions(
            tree, mask, *path, name, words=words, by_step=by_step, to_source=to_source
        )


def _heads_first(array: Array, by_step: bool) -> Array:
    """Return sown weights or logits as [B, H, T, S]; without heads H is 1."""
    batch, steps, keys = array.shape[0], array.shape[1], array.shape[-1]
    if by_step:
        return array.reshape(batch, steps, -1, keys).swapaxes(1, 2)
    return array.reshape(batch, -1, *array.shape[-2:])
