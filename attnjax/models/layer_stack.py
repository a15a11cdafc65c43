"""Stacks of Transformer layers: which layer stands where, and reading through all of them."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Array, Float

from attnjax.attention.heads.carried import Carried
from attnjax.attention.mask import Mask, Padding
from attnjax.errors import UserError
from attnjax.models.beam_cache import BeamState, LayerMemory, beam_cache, gather
from attnjax.models.shapes import Embedded, Present, Step
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, Interleaved, Residual
from attnjax.nn.lift import inherit
from attnjax.nn.norm import Vectors


def check_no_cross_attention(
    owner: str, layer: EncoderLayer | DecoderLayer, interleaved: Interleaved | None
) -> None:
    """Refuse, in a model's name, layers with attention to another text."""
    for kind in (layer, *([interleaved.layer] if interleaved else [])):
        if getattr(kind, "cross_attention", None) is not None:
            raise UserError(
                f"a {owner} has no other text to attend to: model.layer.cross_attention:none"
            )


def kinds_from_below(layer: Any, interleaved: Interleaved | None, number: int) -> list[Any]:
    """Return the kind of each layer of a stack: which of the two stands at its position."""
    period = number + 1 if interleaved is None else interleaved.period
    other = None if interleaved is None else interleaved.layer
    return [layer if place % period else other for place in range(1, number + 1)]


def stacked(
    layer: Any, interleaved: Interleaved | None, number: int, *, residual: Residual, dropout: float
) -> list[Any]:
    """Return the layers of a stack, from below.

    Raises:
        UserError: the interleaved layer is of another kind, such as an encoder's in a decoder.
    """
    if interleaved is not None and type(interleaved.layer) is not type(layer):
        raise UserError(
            f"a layer between others wants to be a {type(layer).__name__}, as they are; got "
            f"{type(interleaved.layer).__name__}"
        )

    own = {"residual": residual, "dropout": dropout}
    return [inherit(kind, **own) for kind in kinds_from_below(layer, interleaved, number)]


def decode_in_parallel(
    layers: Sequence[DecoderLayer],
    x: Float[Array, "B T D"],
    source: Embedded,
    source_mask: Mask,
    **options: Any,
) -> Float[Array, "B T D"]:
    """Read all words at once in all layers, each of which takes the options of a decoder's call."""
    carried = Carried()
    for layer in layers:
        x, carried = layer(x, source, source_mask, carried=carried, **options)
    return x


def step_layers(
    layers: Sequence[DecoderLayer],
    sources: Sequence[Any],
    mask: Padding,
    cache: Any,
    state: BeamState,
    x: Vectors,
    step: Step,
    *,
    prompt: Present | None = None,
) -> tuple[Vectors, Any, BeamState]:
    """Read one more word of each hypothesis in all layers; return vectors, cache and state.

    `sources` are what the layers have prepared of a source, `prompt` the words they have read.
    """
    back_pointers, beams = beam_cache(state.back_pointers, step, prompt)
    pasts, carried = [], Carried()
    for layer, source, *own in zip(layers, sources, cache, state.recurrent, strict=True):
        x, past, carried = layer.step(x, LayerMemory(*own), beams, source, mask, carried)
        pasts.append(past)
    return x, *gather(pasts, back_pointers)
