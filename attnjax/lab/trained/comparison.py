"""Two runs, compared sentence by sentence: is the difference of their scores more than chance?

The sentences are the sample. What other seeds would give, no test of two runs can tell.
"""

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.config.serialize import own_names
from attnjax.data.batch_plan import Batch
from attnjax.errors import UserError, warn
from attnjax.evaluation import sentence_stats
from attnjax.evaluation.attention_numbers import divergence
from attnjax.evaluation.metric import ChrF
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.evaluation.statistics import CONFIDENCE, Interval
from attnjax.lab.reporting.runs import hypotheses, references
from attnjax.lab.runs.data_digests import other_splits
from attnjax.lab.runs.manifest import load_copy, read
from attnjax.lab.runs.result import RunResult
from attnjax.lab.runs.run_folder import result
from attnjax.lab.trained.trained_run import open_trained
from attnjax.models.base import Model
from attnjax.training.objectives.base import shifted

BOOTSTRAPS, SWAPS = 1_000, 10_000
"""The numbers of resamples: an interval needs fewer than a small probability."""


class Discordant(NamedTuple):
    """The answers that are right in one run alone, and McNemar's exact probability."""

    first: int
    second: int
    probability: float


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The difference of two runs' scores on the same sentences.

    Attributes:
        difference: first - second, with its 95 % interval by the paired bootstrap.
        probability: of a difference as large if the runs were exchangeable, by approximate
            randomization.
        discordant: for a share of right answers; None: the score is another.
    """

    metric: str
    sentences: int
    scores: tuple[float, float]
    difference: Interval
    probability: float
    discordant: Discordant | None


def compare(first: str | Path, second: str | Path, *, trust: bool = False) -> Comparison:
    """Compare the answers of two finished runs to their test split.

    A warning says if their task is one and their training or validation data differ.

    Raises:
        UserError: a run is not finished or decoded nothing, the runs were tested on different
            sentences or by different metrics, or a metric is somebody else's and `trust` is False.
    """
    first, second = Path(first), Path(second)
    results = [_finished(folder) for folder in (first, second)]
    ours, theirs = (_sentences(folder, trust=trust) for folder in (first, second))
    sets = {result.test_set for result in results}
    if not ours.comparable(theirs) or len(sets) > 1:
        raise UserError(f"{first} and {second} were tested on different sentences or metrics")
    for split in other_splits(read(first), read(second)):
        warn(
            f"{first} and {second} are runs of one task on other data: their {split} splits differ"
        )
    return paired(ours, theirs)


def paired(first: Sentences, second: Sentences, *, seed: int = 0) -> Comparison:
    """Compare the statistics of two runs' answers to the same sentences.

        bootstrap:      sentences are drawn with replacement, the same for both runs
        randomization:  share of random swaps of the runs' answers, sentence by sentence, after
                        which |difference| is at least as large
        McNemar:        of the answers that are right in one run alone, both are as probable

    Source: Koehn 2004; Riezler & Maxwell 2005; McNemar 1947 (exact).
    """
    from scipy.stats import binomtest, bootstrap, permutation_test

    metric, count = first.metric, len(first.statistics)
    if count < 2:
        raise UserError(f"a comparison wants at least two sentences; got {count}")
    both = np.concatenate([first.statistics, second.statistics])
    places = np.arange(count), np.arange(count, 2 * count)

    def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
        return metric.value(both[ours].sum(0)) - metric.value(both[theirs].sum(0))

    options: dict[str, Any] = {"vectorized": False, "rng": np.random.default_rng(seed)}
    drawn = bootstrap(
        places,
        difference,
        paired=True,
        n_resamples=BOOTSTRAPS,
        confidence_level=CONFIDENCE,
        method="percentile",
        **options,
    )
    swapped = permutation_test(
        places,
        lambda *pair: abs(difference(*pair)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=SWAPS,
        **options,
    )
    discordant = None
    if metric.share_of_answers:
        right, other = (sentences.statistics[:, 0] > 0 for sentences in (first, second))
        alone = int((right & ~other).sum()), int((other & ~right).sum())
        chance = binomtest(alone[0], sum(alone)).pvalue if sum(alone) else 1.0
        discordant = Discordant(*alone, float(chance))
    return Comparison(
        metric=metric.name,
        sentences=count,
        scores=(first.value(), second.value()),
        difference=Interval(difference(*places), *map(float, drawn.confidence_interval)),
        probability=float(swapped.pvalue),
        discordant=discordant,
    )


def attention_agreement(
    first: Path, second: Path, *, examples: int = 64, trust: bool = False
) -> dict[str, float]:
    """Return how alike two runs attend: 1 - JS(p, q) / ln 2 for each attention.

    p and q are the rows of the means over heads, since the heads of two seeds have no common order,
    on the first run's first test sentences; the number is the mean over rows. Attentions that only
    one of the models has are left out.

    Raises:
        UserError: as `open_trained`, or the vocabularies differ.
    """
    runs = [open_trained(folder, trust=trust) for folder in (first, second)]
    if runs[0].vocabularies.digest != runs[1].vocabularies.digest:
        raise UserError(f"{first} and {second} have different vocabularies")
    corpus = runs[0].experiment.task.load(runs[0].vocabularies)
    batch = runs[0].inputs(corpus).first(examples)
    models = tuple(run.experiment.model for run in runs)
    gaps = _divergences(models, [run.params for run in runs], batch)
    return {name: 1 - float(gap) / math.log(2) for (_, name), gap in gaps.items()}


@partial(jax.jit, static_argnames="models")
def _divergences(
    models: tuple[Model, ...], params: Any, batch: Batch
) -> dict[tuple[int, str], jax.Array]:
    """Return the divergence of each attention that both models have, by its number and name."""
    inputs = jnp.asarray(batch.source), shifted(jnp.asarray(batch.target))
    ours, theirs = (
        {layer.name: layer for layer in model.attentions(of_model, *inputs)}
        for model, of_model in zip(models, params, strict=True)
    )
    return {
        (number, name): divergence(
            layer.weights.mean(1), theirs[name].weights.mean(1), layer.mask[:, 0]
        )
        for number, (name, layer) in enumerate(ours.items())
        if name in theirs
    }


class AnswerPair(NamedTuple):
    """A test sentence with the answers of two runs; `source` is "" where it is no text."""

    number: int
    source: str
    reference: str
    first: str
    second: str


def most_different(first: Path, second: Path, most: int) -> list[AnswerPair]:
    """Return the sentences on which two runs' answers differ most, by chrF against the reference.

    Raises:
        UserError: a run keeps no answers or references, or their files are damaged.
    """
    if (pairs := references(first)) is None:
        raise UserError(f"{first} keeps no references of its test split")
    answers = [hypotheses(folder, len(pairs)) for folder in (first, second)]
    metric, targets = ChrF(), [target for _, target in pairs]
    rows = zip(*(metric.statistics(texts, targets) for texts in answers), strict=True)
    gaps = [abs(metric.value(ours) - metric.value(theirs)) for ours, theirs in rows]
    order = np.argsort(-np.asarray(gaps), kind="stable")[:most]
    return [
        AnswerPair(number + 1, *pairs[number], *(texts[number] for texts in answers))
        for number in map(int, order)
        if gaps[number] > 0
    ]


def _finished(folder: Path) -> RunResult:
    """Return the result of a run that is finished, and whose files are those of the result."""
    content = result(folder, {})
    if content is None:
        raise UserError(f"{folder} is not finished, so there is nothing to compare")
    return content


def _sentences(folder: Path, *, trust: bool) -> Sentences:
    manifest = read(folder)
    own = load_copy(folder, manifest, trust=trust).own if own_names(manifest.settings) else {}
    sentences = sentence_stats.read(folder, own)
    if sentences is None:
        raise UserError(f"{folder} has no answers to compare: it decodes none")
    return sentences
