"""What is measured of a run beside its task's metric: parts of an experiment.

All of them look at attention in teacher-forced passes over the test split, outside training: a
measure never changes a run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batches import Batch, Batching, in_order
from attnjax.data.corpus import Corpus
from attnjax.data.symbols import PAD
from attnjax.errors import UserError
from attnjax.evaluation.alignment import corpus_alignment_error
from attnjax.evaluation.saturation import entropy, jacobian_norm, logit_variance
from attnjax.training.objective import shifted

SPLIT = "test"
PICTURES = 3


class Subject(NamedTuple):
    """What is looked at: a model with parameters, on a corpus."""

    model: Any
    params: Any
    corpus: Corpus
    batching: Batching


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What every measure is: numbers by name, of a run at its beginning and at its end."""

    def check(self, corpus: Corpus) -> None:
        """Refuse, before anything is trained, a corpus that cannot be measured so.

        Raises:
            UserError: there is nothing to measure.
        """
        if not corpus.splits.get(SPLIT):
            raise UserError(f"{type(self).__name__} wants a {SPLIT} split; the corpus has none")

    def initial(self, subject: Subject) -> dict[str, float]:
        """Of the parameters that a run starts with."""
        del subject
        return {}

    def trained(self, subject: Subject) -> dict[str, float]:
        """Of those that it ends with."""
        del subject
        return {}

    def pictures(self, subject: Subject) -> list[dict[str, Any]]:
        """Attention to be drawn, as `attnjax.reporting` takes it."""
        del subject
        return []


@dataclass(frozen=True, kw_only=True)
class Alignment(Measure):
    """Whether the decoder looks where a word comes from: "alignment_error", against gold.

    The cross attention of the last decoder layer, the mean of its heads, while the decoder is
    given the references.
    """

    def check(self, corpus: Corpus) -> None:
        super().check(corpus)
        if not any(any(example.alignment or ()) for example in corpus.splits[SPLIT]):
            raise UserError("an alignment error wants gold alignments; the corpus has none")

    def trained(self, subject: Subject) -> dict[str, float]:
        examples = subject.corpus.splits[SPLIT]
        pairs = []
        for indices, batch in in_order(examples, _one_shape(subject.batching)):
            for index, weights in zip(indices, _last_cross(subject, batch), strict=True):
                gold = examples[index].alignment if index >= 0 else None
                if gold:
                    pairs.append((weights[:, : len(examples[index].source)], gold))
        return {"alignment_error": corpus_alignment_error(pairs)}

    def pictures(self, subject: Subject) -> list[dict[str, Any]]:
        corpus = subject.corpus
        examples = corpus.splits[SPLIT]
        drawn: list[dict[str, Any]] = [{} for _ in examples[:PICTURES]]
        # in the batches of `trained`: another shape would be compiled for longer than this takes
        for indices, batch in in_order(examples, _one_shape(subject.batching)):
            for index, weights in zip(indices, _last_cross(subject, batch), strict=True):
                if not 0 <= index < PICTURES:
                    continue
                source, target, alignment = examples[index]
                drawn[index] = {
                    "source": corpus.vocabulary.tokens(source),
                    "target": corpus.vocabulary.tokens(target),
                    "weights": weights[: len(target), : len(source)].round(4).tolist(),
                    "gold": [sorted(places) for places in alignment or ()],
                }
        return drawn


@dataclass(frozen=True, kw_only=True)
class Saturation(Measure):
    """How far the softmaxes are saturated, at the beginning and at the end.

    "logit_variance", "weight_entropy" (nats) and "jacobian_norm", each with "_initial" and
    "_trained" behind it: see `evaluation.saturation`. The mean over all attentions of the model.

    Attributes:
        examples: how many of the test split's first sentences are looked at.
    """

    examples: int = 64

    def initial(self, subject: Subject) -> dict[str, float]:
        return self._measure(subject, "initial")

    def trained(self, subject: Subject) -> dict[str, float]:
        return self._measure(subject, "trained")

    def _measure(self, subject: Subject, moment: str) -> dict[str, float]:
        examples = subject.corpus.splits[SPLIT][: self.examples]
        longest = max(max(len(example.source), len(example.target)) for example in examples)
        multiple = subject.batching.rows_multiple
        rows = -(-len(examples) // multiple) * multiple
        batching = Batching(tokens=rows * longest, shapes=1, rows_multiple=multiple)
        ((_, batch),) = in_order(examples, batching)
        means = jax.device_get(_saturation(subject.model, subject.params, batch))
        return {f"{name}_{moment}": float(value) for name, value in means.items()}


@partial(jax.jit, static_argnames=("model",))
def _saturation(model: Any, params: Any, batch: Batch) -> dict[str, jax.Array]:
    rows = []
    for path, seen in _attentions(_observe(model, params, batch)):
        mask = _allowed(path, batch)
        rows.append(
            {
                "logit_variance": logit_variance(seen["logits"], mask),
                "weight_entropy": entropy(seen["weights"], mask),
                "jacobian_norm": jacobian_norm(seen["weights"], mask),
            }
        )
    return jax.tree.map(lambda *values: sum(values) / len(values), *rows)


@partial(jax.jit, static_argnames=("model",))
def _cross(model: Any, params: Any, batch: Batch) -> jax.Array:
    """[B, T, S]: the last decoder layer's, the mean over heads."""
    seen = _attentions(_observe(model, params, batch))
    last = max(
        (pair for pair in seen if "cross" in pair[0]),
        key=lambda pair: _natural(pair[0]),
        default=None,
    )
    if last is None:
        raise UserError("an alignment wants a model with cross attention; this one has none")
    return last[1]["weights"].mean(1)


def _last_cross(subject: Subject, batch: Batch) -> np.ndarray:
    return np.asarray(_cross(subject.model, subject.params, batch))


def _observe(model: Any, params: Any, batch: Batch) -> Any:
    """What a teacher-forced pass sows to "attention"."""
    _, seen = model.apply(
        {"params": params},
        batch.source,
        shifted(jnp.asarray(batch.target)),
        deterministic=True,
        method="features",
        mutable=["attention"],
    )
    return seen["attention"]


def _attentions(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each attention's path, and its weights and logits [B, H, T, S]."""
    if "weights" in tree:
        yield path, {name: values[0] for name, values in tree.items()}
        return
    for name, below in tree.items():
        yield from _attentions(below, (*path, name))


def _allowed(path: tuple[str, ...], batch: Batch) -> jax.Array:
    """Where the attention at this path may look, [B, 1, T, S]; padding asks nothing."""
    source, target = batch.source != PAD, batch.target != PAD
    if "cross" in path:
        return target[:, None, :, None] & source[:, None, None, :]
    if path[0].startswith("encoder"):
        return source[:, None, :, None] & source[:, None, None, :]
    places = np.arange(target.shape[1])
    return target[:, None, :, None] & (places[:, None] >= places)[None, None]


def _natural(path: tuple[str, ...]) -> list[tuple[int, str]]:
    """For sorting: layer 10 comes after layer 9."""
    return [(int("0" + "".join(re.findall(r"\d", name))), name) for name in path]


def _one_shape(batching: Batching) -> Batching:
    """The forward pass alone is cheap; compiling it for each shape is not."""
    return Batching(tokens=batching.tokens, shapes=1, rows_multiple=batching.rows_multiple)
