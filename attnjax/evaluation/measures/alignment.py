"""Attention over the source, and its error against gold alignments."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batch_plan import Batch
from attnjax.data.batching import Batching, in_order
from attnjax.data.corpus import Corpus, Encoded
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.measures.base import SPLIT, EvalInputs, Measure, Numbers
from attnjax.models.base import Model
from attnjax.training.objectives.base import shifted

type Aligned = tuple[np.ndarray, Sequence[frozenset[int]]]
"""Weights [T, S], and for each target token the source positions of its gold alignment, or ()."""


@dataclass(frozen=True, kw_only=True)
class Heatmaps(Measure):
    """No numbers: refuses, before training, a model whose attention to the source is not shown."""

    numbers: ClassVar[Numbers] = {}

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_shown(model, corpus.splits[SPLIT][0])


@dataclass(frozen=True, kw_only=True)
class Alignment(Heatmaps):
    """The share of words whose strongest weight is not in the gold alignment: "alignment_error".

    The weights are those of the model's `alignment` while the decoder is given the references; see
    `corpus_alignment_error`. Lower is better.
    """

    numbers: ClassVar[Numbers] = {"alignment_error": "lower"}
    shares = frozenset({"alignment_error"})

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if not any(any(example.alignment or ()) for example in corpus.splits[SPLIT]):
            raise UserError("an alignment error needs gold alignments; the corpus has none")

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        return self.measured(corpus_alignment_error(attention_of(inputs)))


def attention_of(inputs: EvalInputs) -> Iterator[Aligned]:
    """Yield the weights of each test example, see `alignments`, and its gold alignment."""
    examples = inputs.corpus.splits[SPLIT]
    for index, weights in alignments(inputs.model, inputs.params, examples, inputs.batching):
        yield weights, examples[index].alignment or ()


def alignments(
    model: Model, params: Any, examples: Sequence[Encoded], batching: Batching
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each example's index and its weights [T, S], while the decoder is given its target.

    They are the model's `alignment`. S is the source's own length; where the source is no text, the
    number of positions attended to.
    """
    # the forward pass alone is cheap; compiling it for each shape is not
    for indices, batch in in_order(examples, batching.with_room(examples, shapes=1)):
        weights = np.asarray(_alignment(model, params, batch))
        for index, rows in zip(indices, weights, strict=True):
            if index >= 0:
                source, target, _ = examples[index]
                length = len(source) if isinstance(source, list) else rows.shape[1]
                yield int(index), rows[: len(target), :length]


@partial(jax.jit, static_argnames=("model",))
def _alignment(model: Model, params: Any, batch: Batch) -> jax.Array:
    return model.alignment(params, jnp.asarray(batch.source), shifted(jnp.asarray(batch.target)))


def check_shown(model: Model, example: Encoded) -> int:
    """Count the positions that the model attends to; refuse a model that shows no attention."""
    return shapes_of(model.alignment, model, example).shape[-1]


def shapes_of(look: Callable[..., Any], model: Model, example: Encoded) -> Any:
    """Return the shapes of look(params, source, decoder_input) for an example; compute nothing."""
    ((_, batch),) = in_order([example], Batching(max_tokens=10**9, batch_size_multiple=1))
    source, decoder_input = jnp.asarray(batch.source), shifted(jnp.asarray(batch.target))
    initial = partial(model.init, deterministic=True)
    variables = jax.eval_shape(initial, jax.random.key(0), source, decoder_input)
    return jax.eval_shape(look, variables["params"], source, decoder_input)


def corpus_alignment_error(pairs: Iterable[Aligned]) -> float:
    """Return the share of wrong links among those of all sentences, in [0, 1].

        AER = 1 - (|A & S| + |A & P|) / (|A| + |S|) = 1 - |A & P| / |A|   for no sure links S

    A are the links made, of every target token with a gold set to its strongest source position
    (the first of equals); P are the gold links, which are possible ones. A link of a row of zeros
    is wrong. What lies beyond the sentence in the weights is padding.

    Source: Och & Ney 2003 (alignment error rate).
    """
    wrong = linked = 0
    for weights, alignment in pairs:
        if weights.ndim != 2 or len(weights) < len(alignment):
            raise ValueError(
                f"weights must be [T, S] with a row for each of {len(alignment)} target tokens; "
                f"got shape {list(weights.shape)}"
            )
        for row, gold in zip(weights, alignment, strict=False):
            if gold:
                linked += 1
                wrong += int(row.argmax()) not in gold or row.max() <= 0
    if not linked:
        raise UserError("an alignment error needs gold alignments; no target token has one")
    return float(wrong / linked)
