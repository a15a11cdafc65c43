"""The attention weights of a few test sentences, in every layer and head: what a report shows.

The decoder is given the reference, not its own answer. A weight is one byte, so that a translator's
48 heads take some ten kilobytes a sentence.
"""

import base64
import io
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batch_plan import Batch
from attnjax.data.batching import in_order
from attnjax.data.corpus import Encoded
from attnjax.data.special_tokens import END, START
from attnjax.data.vocabulary import SPECIAL, Vocabulary
from attnjax.evaluation.measures.base import SPLIT, EvalInputs
from attnjax.evaluation.packed_array import packed, unpacked
from attnjax.models.base import Model
from attnjax.models.sown_attention import WordKind
from attnjax.training.objectives.base import shifted

SENTENCES = 4
"""The number of test sentences whose weights every run keeps."""

POSITIONS = 64
"""The most rows and columns that are kept: of points every n-th, of a text the first."""


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """The weights of one attention, named by its path in the model, for one sentence.

    Attributes:
        rows, columns: the words that its queries and its keys are, see `SentenceAttention.words`.
        shape: heads, queries and keys.
        scale: the greatest weight.
        weights: a byte for each weight, 255 for `scale`: deflated, in base64.
    """

    name: str
    rows: WordKind
    columns: WordKind
    shape: tuple[int, int, int]
    scale: float
    weights: str

    @classmethod
    def of(cls, name: str, rows: Any, columns: Any, weights: np.ndarray) -> Self:
        """Return the record of weights [H, T, S]; weights not finite, or below 0, become 0.

        If some are below 0, the name says that they are not shown.
        """
        weights = np.nan_to_num(weights.astype(np.float32))
        if weights.min(initial=0) < 0:
            name, weights = f"{name} (weights below 0 left out)", weights.clip(0)
        scale = float(weights.max(initial=0)) or 1.0
        content = np.rint(weights * (255 / scale)).astype(np.uint8)
        return cls(
            name=name,
            rows=rows,
            columns=columns,
            shape=weights.shape,
            scale=round(scale, 4),
            weights=packed(content),
        )

    def array(self) -> np.ndarray:
        """Return the weights [H, T, S]."""
        return unpacked(self.weights, "uint8", self.shape) * (self.scale / 255)


@dataclass(frozen=True, kw_only=True)
class SentenceAttention:
    """The attention of a model to one test sentence.

    Attributes:
        number: the sentence's index in the test split.
        source: the label of each position of the source: words, patches or points.
        target: the words of the reference, a label, or points.
        read: the words of the text that the model reads, where it is neither of these: after a
            mark, or source and target in one.
        gold: for each word of the target the source positions that it comes from; (): unknown.
        points: whether source and target are points.
        image: the source as PNG in base64; "": the source is no image.
        grid: rows and columns of the image's patches; (0, 0): the source is no image.
    """

    number: int
    source: tuple[str, ...]
    target: tuple[str, ...]
    read: tuple[str, ...] = ()
    gold: tuple[tuple[int, ...], ...] = ()
    points: bool = False
    image: str = ""
    grid: tuple[int, int] = (0, 0)
    layers: tuple[LayerWeights, ...]

    @property
    def is_decoded(self) -> bool:
        """Whether the target is a text that a decoder is given; a label and points are not."""
        rows = {layer.rows for layer in self.layers}
        return not rows.isdisjoint(("target", "inputs")) and self.target[-1:] == (SPECIAL[END],)

    def words(self, kind: str) -> tuple[str, ...]:
        """Return the labels of rows or columns of a `WordKind`."""
        inputs = (SPECIAL[START], *self.target[:-1])
        words = {"target": self.target, "inputs": inputs, "source": self.source, "read": self.read}
        return words[kind][:POSITIONS]


def attention_record(inputs: EvalInputs, count: int = SENTENCES) -> tuple[SentenceAttention, ...]:
    """Record the attention to the first `count` test sentences; (): the model shows no weights."""
    split = inputs.corpus.splits.get(SPLIT, ())
    examples = inputs.batching.examples_of_seed(split, inputs.seed)[:count]
    if not examples:
        return ()
    sentences: dict[int, SentenceAttention] = {}
    for indices, batch in in_order(examples, inputs.batching.with_room(examples, shapes=1)):
        attentions = jax.device_get(_attentions(inputs.model, inputs.params, batch))
        for row, index in enumerate(indices if attentions else ()):
            if index >= 0:
                sentences[int(index)] = _sentence(
                    inputs, int(index), examples[index], attentions, row
                )
    return tuple(sentences[index] for index in sorted(sentences))


type _Attentions = dict[tuple[int, str, Any, Any], tuple[Any, Any, Any]]
"""Weights, mask and the keys' words by number, name, rows and columns of the attention."""


@partial(jax.jit, static_argnames=("model",))
def _attentions(model: Model, params: Any, batch: Batch) -> _Attentions:
    source, target = jnp.asarray(batch.source), jnp.asarray(batch.target)
    decoder_input = shifted(target)  # points predict nothing, and stay

    return {
        (number, layer.name, *layer.kinds(source, decoder_input)): (
            layer.weights,
            layer.mask,
            layer.words[1],
        )
        for number, layer in enumerate(model.attentions(params, source, decoder_input))
    }


def _sentence(
    inputs: EvalInputs, number: int, example: Encoded, attentions: _Attentions, row: int
) -> SentenceAttention:
    source, target = inputs.corpus.vocabularies
    layers, read = [], ()
    for (_, name, rows, columns), (weights, mask, keys) in attentions.items():
        allowed = np.broadcast_to(mask, weights.shape)[row, 0]
        queries = _positions(int(allowed.any(1).sum()), example.target, rows)
        keys_shown = _positions(int(allowed.any(0).sum()), example.source, columns)
        chosen = weights[row][:, queries][..., keys_shown]
        if columns == "read":
            read = _labels(source or target, keys[row][: chosen.shape[2]].tolist(), 0)
        layers.append(LayerWeights.of(name, rows, columns, chosen))
    image, grid = "", (0, 0)
    if isinstance(example.source, np.ndarray) and example.source.ndim == 3:
        height, width, _ = example.source.shape
        side = (height * width / layers[-1].shape[2]) ** 0.5
        image, grid = _png(example.source), (round(height / side), round(width / side))
    return SentenceAttention(
        number=number,
        source=_labels(source, example.source, max(layer.shape[2] for layer in layers)),
        target=_labels(target, _words_of(example.target), 0),
        read=read,
        gold=tuple(tuple(sorted(origins)) for origins in example.alignment or ()),
        points=getattr(example.source, "ndim", 1) == 2,
        image=image,
        grid=grid,
        layers=tuple(layers),
    )


def _positions(count: int, side: Any, kind: str) -> np.ndarray:
    """Choose the rows or columns that are kept, out of `count`."""
    if kind in ("source", "target") and getattr(side, "ndim", 1) == 2:
        return np.linspace(0, count - 1, min(count, POSITIONS)).astype(int)
    return np.arange(min(count, POSITIONS))


def _words_of(target: Any) -> Any:
    """Return the ids of a target's words; of labels at some places those of the labels."""
    of_places = getattr(target, "ndim", 1) == 2 and target.dtype.kind in "iu"
    return target[:, 1] if of_places else target


def _labels(vocabulary: Vocabulary | None, side: Any, patches: int) -> tuple[str, ...]:
    """Label each position: by its symbol, a point's first coordinate, or a patch's number."""
    if vocabulary is not None:
        return tuple(vocabulary.tokens(side))
    if getattr(side, "ndim", 1) == 2:
        return tuple(f"{side[point, 0]:.2f}" for point in _positions(len(side), side, "source"))
    return tuple(map(str, range(patches)))


def _png(image: np.ndarray) -> str:
    """Encode an image in [0, 1], [height, width, channels], as PNG in base64."""
    from PIL import Image  # imported here, because only images need it

    file = io.BytesIO()
    pixels = np.rint(image.clip(0, 1) * 255).astype(np.uint8)
    Image.fromarray(pixels.squeeze()).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
