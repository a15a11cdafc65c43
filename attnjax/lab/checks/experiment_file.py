"""The checks of `attnjax check`: every part that an experiment file defines, in its place."""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.attention.align.base import Align
from attnjax.attention.attention import Attention, AttentionBase
from attnjax.attention.mask import Mask
from attnjax.attention.pool import Pool
from attnjax.attention.score.base import Score
from attnjax.attention.state.feature_map import FeatureMap, SignedFeatureMap
from attnjax.attention.state.linear import LinearAttention
from attnjax.attention.state.recurrent import SignedLinearAttention
from attnjax.config.own_code import FileModule
from attnjax.config.walk import walk
from attnjax.experiment import Experiment
from attnjax.experiment.load import ExperimentFile
from attnjax.lab.checks import NARROW, Finding, check_attention, check_model, check_norm
from attnjax.lab.checks.finding import error_finding
from attnjax.lab.checks.parts import check_part, few_examples
from attnjax.models.input_widths import Widths, input_widths
from attnjax.models.sequence_model import SequenceModel
from attnjax.nn.norm import Norm

FIELDS = {"score": Score, "align": Align, "pool": Pool, "mask": Mask}
"""The fields of an attention that hold parts."""

type Trial = tuple[str, list[Any], Callable[[], list[Finding]]]
"""The path of a part, the user's own parts that it is or holds, and its check."""


def check_file(
    loaded: ExperimentFile, begin: Callable[[str], Any]
) -> Iterator[tuple[str, list[Finding]]]:
    """Check the user's own parts that a variant uses, or that the file defines.

    A score, an align, a pool or a mask is checked in the attention that holds it, at the widths
    that the variant's model gives it; a norm by itself. A model that is, or holds, such a part is
    checked on examples of its task. Equal parts are checked once, tasks, metrics, objectives and
    schedules too. A part that the file defines and no variant uses is checked with its defaults.
    Parts that cannot be checked, such as measures, come last, without findings. `begin` is called
    with the name of each part before it is checked.
    """
    own = {
        kind
        for kind in loaded.own.values()
        if not kind.__module__.startswith("attnjax.") and not inspect.isabstract(kind)
    }
    tried: set[type] = set()
    for trials in (_in_model, _outside_of_model):
        done: list[tuple[bool, list[Any]]] = []
        for name, experiment in loaded.ablation.variants.items():
            for path, mine, check in trials(experiment, own):
                key = (path == "model", mine)
                if key in done:
                    continue
                done.append(key)
                kinds = ", ".join(dict.fromkeys(type(part).__name__ for part in mine))
                what = f"{kinds} (variant {name}, {path})"
                begin(what)
                if findings := check():
                    tried |= {*map(type, mine)}
                    yield what, findings
    unused = {
        kind for kind in own - tried if isinstance(sys.modules.get(kind.__module__), FileModule)
    }
    for kind in sorted(unused, key=lambda kind: kind.__name__):
        begin(kind.__name__)
        yield kind.__name__, _check_alone(kind)


def _in_model(experiment: Experiment, own: set[type]) -> Iterator[Trial]:
    """Yield the attentions and norms that are or hold the user's own parts, then the model."""
    parts = [*walk(experiment.model, "model")]
    holding = [(path, part) for path, part in parts if isinstance(part, AttentionBase | Norm)]
    holding = [(path, part, mine) for path, part in holding if (mine := _held(part, own))]
    widths = _widths(experiment) if holding else []
    for path, part, mine in holding:
        of_part = next((of_called for called, of_called in widths if called == part), NARROW)
        yield path, mine, partial(_check, part, of_part)
    every = (experiment.model, *(part for _, part in parts))
    if mine := _unique(part for part in every if type(part) in own):
        yield "model", mine, partial(_check_model, experiment)


def _outside_of_model(experiment: Experiment, own: set[type]) -> Iterator[Trial]:
    """Yield the user's own parts outside of the model, each by itself."""
    for path, part in walk(experiment):
        if type(part) in own and not path.startswith("model."):
            yield path, [part], partial(check_part, part, experiment)


def _held(outer: AttentionBase | Norm, own: set[type]) -> list[Any]:
    """Return the parts of these classes that a part is or holds, inner attentions left out."""
    inner = [path for path, part in walk(outer) if isinstance(part, AttentionBase)]
    below = [
        part
        for path, part in walk(outer)
        if not any(path == within or path.startswith(f"{within}.") for within in inner)
    ]
    return _unique(part for part in (outer, *below) if type(part) in own)


def _unique(parts: Iterable[Any]) -> list[Any]:
    """Return the parts without repetitions, by comparison, because a part may have no hash."""
    unique: list[Any] = []
    for part in parts:
        if part not in unique:
            unique.append(part)
    return unique


def _check_alone(kind: Any) -> list[Finding]:
    """Check a part that no variant has; [] if it is no norm or part of an attention."""
    if not issubclass(kind, (AttentionBase, Norm, FeatureMap, SignedFeatureMap, *FIELDS.values())):
        return []
    try:
        part = kind()
    except Exception as error:
        return [error_finding("can be made of its defaults", error)]
    return _check(part)


def _widths(experiment: Experiment) -> list[tuple[AttentionBase, Widths]]:
    """Return the attentions that an experiment's model calls, each with the widths of its inputs.

    The list is empty if the model cannot be called: the check of the model reports why.
    """
    try:
        model, batch, _ = few_examples(experiment)
        init = partial(model.init, jax.random.key(0), deterministic=True)
        return input_widths(init, *map(jnp.asarray, batch))
    except Exception:
        return []


def _check(part: Any, widths: Widths = NARROW) -> list[Finding]:
    """Check a norm, an attention, or an attention that has this part beside default ones."""
    match part:
        case Norm():
            return check_norm(part)
        case AttentionBase():
            return check_attention(part, widths)
        case FeatureMap():
            return check_attention(LinearAttention(feature_map=part))
        case SignedFeatureMap():
            return check_attention(SignedLinearAttention(feature_map=part))
    (name,) = (name for name, kind in FIELDS.items() if isinstance(part, kind))
    return check_attention(Attention(**{name: part}))


def _check_model(experiment: Experiment) -> list[Finding]:
    """Check an experiment's model; [] if it is not a `SequenceModel`."""
    try:
        model, batch, count = few_examples(experiment)
    except Exception as error:
        return [error_finding("fits its task", error)]
    if not isinstance(model, SequenceModel):
        return []
    return check_model(model, jnp.asarray(batch.source[:count]), jnp.asarray(batch.target[:count]))
