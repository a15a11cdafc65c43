"""`attnjax check`: the library's properties, tried on the parts that an experiment file defines."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp

from attnjax.attention.align import Align
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.score import Score
from attnjax.checks import Finding, check_attention, check_model
from attnjax.config.walk import walk
from attnjax.data.batching import in_order
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.models.base import SequenceModel

EXAMPLES = 4
"""So many examples of the training split are given to a model."""


class Checked(NamedTuple):
    """What was tried, in words, and what came of it."""

    what: str
    findings: list[Finding]


def check_file(loaded: ExperimentFile) -> Iterator[Checked]:
    """Try each part that the file defines: where a variant has it, or else with its defaults.

    A score or an align is tried in the attention that holds it; a model, and a model with any such
    part, on examples of its own task.
    """
    own = {kind for kind in loaded.own.values() if not kind.__module__.startswith("attnjax.")}
    tried: set[AttentionBase] = set()
    used: set[type] = set()
    for name, experiment in loaded.ablation.variants.items():
        parts = [("model", experiment.model), *walk(experiment.model, "model")]
        mine = {type(part) for _, part in parts if type(part) in own}
        used |= mine
        for path, part in parts:
            if isinstance(part, AttentionBase) and part not in tried and _holds(part, own):
                tried.add(part)
                yield Checked(f"variant {name}, {path}", check_attention(part))
        if mine:
            yield Checked(f"variant {name}, model", _check_model(experiment))
    for kind in sorted(own - used, key=lambda kind: kind.__name__):
        if attention := _alone(kind):
            yield Checked(kind.__name__, check_attention(attention))


def _holds(attention: AttentionBase, own: set[type]) -> bool:
    """Whether an attention is of such a class, or holds one in no attention within it."""
    inner = [path for path, part in walk(attention) if isinstance(part, AttentionBase)]
    return type(attention) in own or any(
        type(part) in own and not path.startswith(tuple(inner)) for path, part in walk(attention)
    )


def _alone(kind: Any) -> AttentionBase | None:
    """An attention with a part that no variant has; None: it is no part of one."""
    if issubclass(kind, AttentionBase):
        return kind()
    if issubclass(kind, Score):
        return Attention(score=kind())
    return Attention(align=kind()) if issubclass(kind, Align) else None


def _check_model(experiment: Experiment) -> list[Finding]:
    """The findings for an experiment's model; none if it is not one of sequences."""
    corpus = experiment.task.load()
    model = experiment.resolve(corpus).model
    if not isinstance(model, SequenceModel):
        return []
    examples = corpus.splits["train"][:EXAMPLES]
    _, batch = next(in_order(examples, experiment.training.batching))
    rows = slice(0, len(examples))
    return check_model(model, jnp.asarray(batch.source[rows]), jnp.asarray(batch.target[rows]))
