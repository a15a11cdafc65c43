"""What is measured of a run beside its task's metric: parts of an experiment.

All of them look at the test split, outside training: a measure never changes a run.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.constraints import PositiveInt
from attnjax.data.batching import Batch, Batching, in_order
from attnjax.data.corpus import Corpus, Encoded
from attnjax.data.vocabulary import Vocabulary
from attnjax.errors import UserError
from attnjax.evaluation.measures.alignment import (
    alignments,
    check_shown,
    corpus_alignment_error,
    shapes_of,
)
from attnjax.evaluation.measures.saturation import entropy, jacobian_norm, logit_variance
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.models.base import Model, SequenceModel
from attnjax.training.objectives.base import shifted

SPLIT = "test"
PICTURES = 3


class EvalInputs(NamedTuple):
    """What is looked at: a model with parameters, on a corpus.

    Attributes:
        model: with its vocabularies' sizes.
        params: its parameters.
        corpus: its task's.
        batching: how examples are put into batches.
        sentences: what the score of its answers to the test split is made of; None: it gave none.
        seed: the run's.
    """

    model: Model
    params: Any
    corpus: Corpus
    batching: Batching
    sentences: Sentences | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What every measure is: numbers by name, of a run at its beginning and at its end."""

    def check(self, model: Model, corpus: Corpus) -> None:
        """Refuse, before anything is trained, what cannot be measured so.

        Raises:
            UserError: there is nothing to measure.
        """
        del model
        if not corpus.splits.get(SPLIT):
            raise UserError(f"{type(self).__name__} wants a {SPLIT} split; the corpus has none")

    def initial(self, subject: EvalInputs) -> dict[str, float]:
        """Of the parameters that a run starts with."""
        del subject
        return {}

    def trained(self, subject: EvalInputs) -> dict[str, float]:
        """Of those that it ends with."""
        del subject
        return {}

    def pictures(self, subject: EvalInputs) -> list[dict[str, Any]]:
        """Attention to be drawn, as `attnjax.reporting` takes it."""
        del subject
        return []


@dataclass(frozen=True, kw_only=True)
class Heatmaps(Measure):
    """Pictures of what the first sentences' words attend to, without any number."""

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        check_shown(model, corpus.splits[SPLIT][0])

    def pictures(self, subject: EvalInputs) -> list[dict[str, Any]]:
        source_vocabulary, target_vocabulary = subject.corpus.vocabularies
        examples = subject.corpus.splits[SPLIT][:PICTURES]
        drawn: list[dict[str, Any]] = [{} for _ in examples]
        for index, weights in attention_of(subject, examples):
            source, target, alignment = examples[index]
            drawn[index] = {
                "source": _labels(source_vocabulary, source, weights.shape[1]),
                "target": _labels(target_vocabulary, target, weights.shape[0]),
                "weights": weights.round(4).tolist(),
                "gold": [sorted(places) for places in alignment or ()],
            }
        return drawn


@dataclass(frozen=True, kw_only=True)
class Alignment(Heatmaps):
    """Whether the decoder looks where a word comes from: "alignment_error", against gold.

    The model's `alignment` while the decoder is given the references.
    """

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        if not any(any(example.alignment or ()) for example in corpus.splits[SPLIT]):
            raise UserError("an alignment error wants gold alignments; the corpus has none")

    def trained(self, subject: EvalInputs) -> dict[str, float]:
        examples = subject.corpus.splits[SPLIT]
        pairs = (
            (weights, alignment)
            for index, weights in attention_of(subject, examples)
            if (alignment := examples[index].alignment)
        )
        return {"alignment_error": corpus_alignment_error(pairs)}


def attention_of(
    subject: EvalInputs, examples: Sequence[Encoded]
) -> Iterator[tuple[int, np.ndarray]]:
    """The `alignments` of examples' references."""
    # the forward pass alone is cheap; compiling it for each shape is not
    batching = subject.batching.with_room(examples, shapes=1)
    return alignments(subject.model, subject.params, examples, batching)


def _labels(vocabulary: Vocabulary | None, symbols: Any, count: int) -> list[str]:
    """What stands at each place: its symbol, or where there is no text its number."""
    return [*map(str, range(count))] if vocabulary is None else vocabulary.tokens(symbols)


@dataclass(frozen=True, kw_only=True)
class Saturation(Measure):
    """How far the softmaxes are saturated, at the beginning and at the end.

    "logit_variance", "weight_entropy" (nats) and "jacobian_norm", each with "_initial" and
    "_trained" behind it: see `evaluation.saturation`. The mean over all attentions of the model, of
    the variance over those that have logits: a fixed vector has none.

    Attributes:
        examples: how many of the test split's first sentences are looked at.
    """

    examples: PositiveInt = 64

    def check(self, model: Model, corpus: Corpus) -> None:
        super().check(model, corpus)
        found = isinstance(model, SequenceModel) and shapes_of(
            lambda *inputs: [attention.weights for attention in model.attentions(*inputs)],
            model,
            corpus.splits[SPLIT][0],
        )
        if not found:
            raise UserError(
                "Saturation wants a model that names its attentions; "
                f"{type(model).__name__} names none"
            )

    def initial(self, subject: EvalInputs) -> dict[str, float]:
        return self._measure(subject, "initial")

    def trained(self, subject: EvalInputs) -> dict[str, float]:
        return self._measure(subject, "trained")

    def _measure(self, subject: EvalInputs, moment: str) -> dict[str, float]:
        examples = subject.corpus.splits[SPLIT][: self.examples]
        longest = max(max(len(example.source), len(example.target)) for example in examples)
        multiple = subject.batching.batch_size_multiple
        rows = -(-len(examples) // multiple) * multiple
        batching = Batching(max_tokens=rows * longest, shapes=1, batch_size_multiple=multiple)
        ((_, batch),) = in_order(examples, batching)
        means = jax.device_get(_saturation(subject.model, subject.params, batch))
        return {f"{name}_{moment}": float(value) for name, value in means.items()}


@partial(jax.jit, static_argnames=("model",))
def _saturation(model: Any, params: Any, batch: Batch) -> dict[str, jax.Array]:
    found: dict[str, list[jax.Array]] = defaultdict(list)
    decoder_input = shifted(jnp.asarray(batch.target))
    for attention in model.attentions(params, jnp.asarray(batch.source), decoder_input):
        if attention.logits is not None:
            found["logit_variance"].append(logit_variance(attention.logits, attention.mask))
        found["weight_entropy"].append(entropy(attention.weights, attention.mask))
        found["jacobian_norm"].append(jacobian_norm(attention.weights, attention.mask))
    return {name: jnp.stack(values).mean() for name, values in found.items()}
