"""Attention weights that a model has sown, as arrays [B, H, T, S], and the mask of each."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax

from attnjax.data.special_tokens import END, PAD


class LayerAttention(NamedTuple):
    """Weights, logits and mask of one attention of a model: H heads, T queries, S keys.

    Attributes:
        name: the attention's path in the model.
        weights: [B, H, T, S].
        logits: [B, H, T, S]; None: the attention has none.
        mask: booleans that broadcast to [B, H, T, S], True = the query is not padding and may
            attend to the key.
        to_source: whether the target's words attend to the source.
    """

    name: str
    weights: jax.Array
    logits: jax.Array | None
    mask: jax.Array
    to_source: bool = False


def queries_of(decoder_input: jax.Array, present: jax.Array) -> jax.Array:
    """Booleans [B, T]: the decoder inputs whose next word belongs to the target.

    END is an input only after the target's end. A row whose source is empty (`present` [B, S] is
    False everywhere) fills up the batch; its START predicts nothing.
    """
    predicts = (decoder_input != PAD) & (decoder_input != END)
    return predicts & present.any(1, keepdims=True)


def pairs(queries: jax.Array, keys: jax.Array) -> jax.Array:
    """Booleans [B, 1, T, S]: query [B, T] and key [B, S] are both present."""
    return queries[:, None, :, None] & keys[:, None, None, :]


def layer_attentions(
    tree: Any, mask: jax.Array, *path: str, by_step: bool = False, to_source: bool = False
) -> Iterator[LayerAttention]:
    """Every attention below a path of the sown collection "attention", in the order of the tree.

    Args:
        tree: the collection.
        mask: the mask of these attentions, see `LayerAttention`.
        path: the path in the collection.
        by_step: True: a scan over time stacked the arrays, [B, T, ..., 1, S]; False: they were
            computed at once, [B, ..., T, S].
        to_source: see `LayerAttention`.
    """
    below = tree
    for name in path:
        below = below.get(name, {})
    if "weights" in below:
        arrays = {name: _heads_first(values[0], by_step) for name, values in below.items()}
        weights, logits = arrays["weights"], arrays.get("logits")
        yield LayerAttention(".".join(path), weights, logits, mask, to_source)
        return
    for name in below:
        yield from layer_attentions(tree, mask, *path, name, by_step=by_step, to_source=to_source)


def _heads_first(array: jax.Array, by_step: bool) -> jax.Array:
    """Sown weights or logits as [B, H, T, S]; without heads H is 1."""
    batch, steps, keys = array.shape[0], array.shape[1], array.shape[-1]
    if by_step:
        return array.reshape(batch, steps, -1, keys).swapaxes(1, 2)
    return array.reshape(batch, -1, *array.shape[-2:])
