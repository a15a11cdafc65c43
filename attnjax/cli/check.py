"""`attnjax check`: the parts that an experiment file defines are checked for properties."""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import jax.numpy as jnp

from attnjax.attention.align import Align
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.feature_map import FeatureMap
from attnjax.attention.linear import LinearAttention
from attnjax.attention.mask import Mask
from attnjax.attention.pool import Pool
from attnjax.attention.score import Score
from attnjax.checks import Finding, check_attention, check_model, check_norm
from attnjax.checks.finding import raised
from attnjax.cli.check_parts import Checked, check_parts, where
from attnjax.config.walk import walk
from attnjax.data.batching import in_order
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.models.sequence_model import SequenceModel
from attnjax.nn.norm import Norm

EXAMPLES = 4
"""The number of training examples that a model is checked with."""


def check_file(loaded: ExperimentFile) -> Iterator[Checked]:
    """Check each part that the file defines, as it is in a variant, or else with its defaults.

    A score, an align, a pool or a mask is checked in the attention that holds it, a norm by itself.
    A model that is, or holds, such a part is checked on examples of its task. Equal parts are
    checked once, tasks, metrics, objectives and schedules too. Parts that cannot be checked, such
    as measures, come last.
    """
    own = {
        kind
        for kind in loaded.own.values()
        if not kind.__module__.startswith("attnjax.") and not inspect.isabstract(kind)
    }
    alone: list[list[Any]] = []
    in_model: list[list[Any]] = []
    tried: set[type] = set()
    for name, experiment in loaded.ablation.variants.items():
        for path, part in walk(experiment.model, "model"):
            mine = _held(part, own) if isinstance(part, AttentionBase | Norm) else []
            if mine and mine not in alone:
                alone.append(mine)
                tried |= {*map(type, mine)}
                findings = check_norm(part) if isinstance(part, Norm) else check_attention(part)
                yield Checked(where(mine, name, path), findings)
        mine = _unique(
            part
            for part in (experiment.model, *(part for _, part in walk(experiment.model)))
            if type(part) in own
        )
        if mine and mine not in in_model:
            in_model.append(mine)
            if findings := _check_model(experiment):
                tried |= {*map(type, mine)}
                yield Checked(where(mine, name, "model"), findings)
    yield from check_parts(loaded.ablation.variants, own, tried)
    for kind in sorted(own - tried, key=lambda kind: kind.__name__):
        yield Checked(kind.__name__, _check_alone(kind))


def _held(outer: AttentionBase | Norm, own: set[type]) -> list[Any]:
    """The parts of these classes that a part is or holds, inner attentions left out."""
    inner = [path for path, part in walk(outer) if isinstance(part, AttentionBase)]
    below = [
        part
        for path, part in walk(outer)
        if not any(path == within or path.startswith(f"{within}.") for within in inner)
    ]
    return _unique(part for part in (outer, *below) if type(part) in own)


def _unique(parts: Iterable[Any]) -> list[Any]:
    """The parts without repetitions; they are compared, because a part may have no hash."""
    unique: list[Any] = []
    for part in parts:
        if part not in unique:
            unique.append(part)
    return unique


def _check_alone(kind: Any) -> list[Finding]:
    """The findings for a part that no variant has; [] if it is no norm or part of an attention."""
    if not issubclass(kind, AttentionBase | Score | Align | Pool | FeatureMap | Mask | Norm):
        return []
    try:
        part = kind()
    except Exception as error:
        return [raised("can be made of its defaults", error)]
    return check_norm(part) if isinstance(part, Norm) else check_attention(_attention_of(part))


def _attention_of(part: AttentionBase | Score | Align | Pool | FeatureMap | Mask) -> AttentionBase:
    """An attention that is or has this part, the others by default."""
    match part:
        case AttentionBase():
            return part
        case FeatureMap():
            return LinearAttention(feature_map=part)
        case Score():
            return Attention(score=part)
        case Pool():
            return Attention(pool=part)
        case Mask():
            return Attention(mask=part)
        case Align():
            return Attention(align=part)


def _check_model(experiment: Experiment) -> list[Finding]:
    """The findings for an experiment's model; [] if it is not a `SequenceModel`."""
    try:
        corpus = experiment.task.load()
        model = experiment.resolve(corpus).model
        if not isinstance(model, SequenceModel):
            return []
        examples = corpus.splits["train"][:EXAMPLES]
        _, batch = next(in_order(examples, experiment.training.batching))
    except Exception as error:
        return [raised("fits its task", error)]
    rows = slice(0, len(examples))
    return check_model(model, jnp.asarray(batch.source[rows]), jnp.asarray(batch.target[rows]))
