"""The data that the page's script works with: attention, learning curves and answers, as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.evaluation.attention_record import SENTENCES, SentenceAttention
from attnjax.evaluation.bleu import Bleu
from attnjax.lab.reporting import figure
from attnjax.lab.reporting.runs import attention, curve, hypotheses, references, visible

_POINTS = 60
"""The largest number of points of a seed's curve."""

_APART, _SENTENCES = 8, 240
"""How many sentences are kept of each pair of variants, and about how many of all pairs."""

_BYTES = 6_000_000
"""The most bytes of weights in a page, unless the reader asks for more."""


def attentions(
    runs: Mapping[str, Sequence[Path]], count: int | None
) -> dict[str, dict[str, list[Any]]]:
    """Return sentences with the weights of all layers and heads, by variant and seed.

    A run has at most `count`; None: as many as it keeps by itself, or fewer if the page would be
    large.
    """
    kept = {run: attention(run) for own in runs.values() for run in own}
    most = SENTENCES if count is None else count
    while count is None and most > 1 and _size(kept.values(), most) > _BYTES:
        most -= 1
    shown = {
        name: {_seed(run): [*map(_sentence, kept[run][:most])] for run in own if kept[run]}
        for name, own in runs.items()
    }
    return {name: seeds for name, seeds in shown.items() if seeds}


def _size(kept: Iterable[Sequence[SentenceAttention]], most: int) -> int:
    """Return the bytes of the weights of the first sentences of all runs."""
    layers = (layer for run in kept for sentence in run[:most] for layer in sentence.layers)
    return sum(len(layer.weights) for layer in layers)


def _sentence(sentence: SentenceAttention) -> dict[str, Any]:
    kinds = {kind for layer in sentence.layers for kind in (layer.rows, layer.columns)}
    kinds |= {"source", "target"}
    words = {kind: [*map(visible, sentence.words(kind))] for kind in sorted(kinds)}
    shown: dict[str, Any] = {"source": words["source"], "target": words["target"], "words": words}
    shown["decoded"] = sentence.is_decoded
    return asdict(sentence) | shown


def curves(runs: Mapping[str, Sequence[Path]]) -> dict[str, Any] | None:
    """Return every number of the logs by step, variant and seed, and the figure to draw them."""
    rows = [
        {
            "variant": variant,
            "seed": _seed(run),
            "of": of,
            "step": step,
            "value": float(f"{value:.4g}"),
        }
        for variant, own in runs.items()
        for run in own
        for of, points in curve(run, _POINTS).items()
        for step, value in points
    ]
    return {"rows": rows, "figure": figure.interactive("curves")} if rows else None


def answers(runs: Mapping[str, Sequence[Path]]) -> dict[str, Any] | None:
    """Return the sentences on which two variants differ most, of the first seed all variants have.

    A sentence's score is that of the metric on it alone; BLEU's is smoothed.
    """
    by_seed = [{_seed(run): run for run in own} for own in runs.values()]
    seed = next((seed for seed in by_seed[0] if all(seed in own for own in by_seed)), None)
    own = {name: seeds[seed] for name, seeds in zip(runs, by_seed, strict=True) if seed in seeds}
    pairs = next((references(run) for run in own.values()), None) or []
    kept = {name: kept for name, run in own.items() if (kept := _scored(run, len(pairs)))}
    scores = {name: values for name, (_, values) in kept.items()}
    texts = {name: hypotheses(own[name], len(pairs)) for name in scores}
    sentences = [
        {
            "number": number,
            "source": pairs[number][0],
            "reference": pairs[number][1],
            "answers": {
                name: [texts[name][number], round(values[number], 3)]
                for name, values in scores.items()
            },
        }
        for number in _apart(scores)
    ]
    score = ", ".join({name for name, _ in kept.values()})
    return {"seed": seed, "score": score, "sentences": sentences} if sentences else None


def _scored(run: Path, count: int) -> tuple[str, list[float]] | None:
    """Return the metric's name and a score for each answer of the run; None: it has none."""
    try:
        kept = sentence_stats.read(run)
        hypotheses(run, count)
    except UserError:  # a metric of the experiment's own, or answers with line breaks
        return None
    if kept is None or len(kept.statistics) != count:
        return None
    metric = replace(kept.metric, smooth="exp") if isinstance(kept.metric, Bleu) else kept.metric
    return metric.name.replace("_", " "), [metric.value(row) for row in kept.statistics]


def _apart(scores: Mapping[str, Sequence[float]]) -> list[int]:
    """Return the sentences on which some pair of variants differs most."""
    pairs = [*combinations(map(np.asarray, scores.values()), 2)]
    chosen: set[int] = set()
    for first, second in pairs:
        difference = abs(first - second)
        most = max(1, min(_APART, _SENTENCES // len(pairs)))
        order = np.argsort(-difference, kind="stable")[:most]
        chosen |= {int(place) for place in order if difference[place] > 0}
    return sorted(chosen)


def _seed(run: Path) -> str:
    return run.name.removeprefix("seed-")
