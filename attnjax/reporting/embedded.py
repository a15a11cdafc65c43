"""The data that the page's script works with: attention, learning curves and answers, as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from attnjax.errors import UserError
from attnjax.evaluation import sentence_stats
from attnjax.evaluation.attention_record import SentenceAttention
from attnjax.evaluation.bleu import Bleu
from attnjax.reporting import figure
from attnjax.reporting.runs import attention, curve, hypotheses, references, visible

_POINTS = 60
"""The largest number of points of a seed's curve."""

_APART = 8
"""How many sentences are kept of each pair of variants."""


def attentions(runs: Mapping[str, Sequence[Path]], count: int) -> dict[str, dict[str, Any]]:
    """Sentences with the weights of all layers and heads, by variant and seed."""
    of: dict[str, dict[str, Any]] = {}
    for variant, own in runs.items():
        for run in own:
            if sentences := attention(run)[:count]:
                of.setdefault(variant, {})[_seed(run)] = [*map(_sentence, sentences)]
    return of


def _sentence(sentence: SentenceAttention) -> dict[str, Any]:
    kinds = {kind for layer in sentence.layers for kind in (layer.rows, layer.columns)}
    kinds |= {"source", "target"}
    words = {kind: [*map(visible, sentence.words(kind))] for kind in sorted(kinds)}
    about = {"source": words["source"], "target": words["target"], "words": words}
    return asdict(sentence) | about


def curves(runs: Mapping[str, Sequence[Path]]) -> dict[str, Any] | None:
    """Every number of the logs by step, variant and seed, and the figure to draw them."""
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
    """The sentences on which two variants differ most, of the first seed that all variants have.

    A sentence's score is that of the metric on it alone; BLEU's is smoothed.
    """
    by_seed = [{_seed(run): run for run in own} for own in runs.values()]
    seed = next((seed for seed in by_seed[0] if all(seed in own for own in by_seed)), None)
    own = {name: each[seed] for name, each in zip(runs, by_seed, strict=True) if seed in each}
    pairs = next((references(run) for run in own.values()), None) or []
    kept = {name: kept for name, run in own.items() if (kept := _scored(run, len(pairs)))}
    scores = {name: values for name, (_, values) in kept.items()}
    texts = {name: hypotheses(own[name]) for name in scores}
    sentences = [
        {
            "number": number,
            "source": pairs[number][0],
            "reference": pairs[number][1],
            "answers": {
                name: [texts[name][number], round(scores[name][number], 3)] for name in scores
            },
        }
        for number in _apart(scores)
    ]
    score = ", ".join({name for name, _ in kept.values()})
    return {"seed": seed, "score": score, "sentences": sentences} if sentences else None


def _scored(run: Path, count: int) -> tuple[str, list[float]] | None:
    """The metric's name and a score for each of the run's answers; None: the run has none."""
    try:
        kept = sentence_stats.read(run)
    except UserError:  # a metric of the experiment's own
        return None
    if kept is None or len(kept.statistics) != count:
        return None
    metric = replace(kept.metric, smooth="exp") if isinstance(kept.metric, Bleu) else kept.metric
    return metric.name.replace("_", " "), [metric.value(row) for row in kept.statistics]


def _apart(scores: Mapping[str, Sequence[float]]) -> list[int]:
    """The sentences on which some pair of variants differs most."""
    columns = [np.asarray(column) for column in scores.values()]
    chosen: set[int] = set()
    for number, first in enumerate(columns):
        for second in columns[:number]:
            difference = abs(first - second)
            order = np.argsort(-difference, kind="stable")[:_APART]
            chosen |= {int(place) for place in order if difference[place] > 0}
    return sorted(chosen)


def _seed(run: Path) -> str:
    return run.name.removeprefix("seed-")


def as_json(data: Mapping[str, Any]) -> str:
    """The data as JSON that cannot end a <script>."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
