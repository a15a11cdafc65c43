"""The base class of measures, and their inputs."""

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.align.base import Align
from attnjax.config.walk import walk
from attnjax.data.batch_plan import Batch
from attnjax.data.batching import Batching, in_order
from attnjax.data.corpus import Corpus, Encoded
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Better, Measurement, MetricKey
from attnjax.evaluation.metric import Metric
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.models.base import Model
from attnjax.training.objectives.base import Objective

SPLIT = "test"

type Numbers = Mapping[str, Better | None]
"""Names of numbers, and which direction is better; None: the number judges nothing."""


class EvalInputs(NamedTuple):
    """The inputs of a measure: a resolved model, its parameters, and the run's corpus.

    `sentences` are the statistics of the run's test answers; None: nothing was decoded. `log` reads
    the rows of the run's metrics.jsonl, from which a measure takes what happened on the way.
    """

    model: Model
    params: Any
    corpus: Corpus
    batching: Batching
    sentences: Sentences | None = None
    seed: int = 0
    log: Callable[[], Sequence[Mapping[str, Any]]] = tuple

    def first(self, count: int) -> Batch:
        """Return the first `count` test sentences as one batch, in order, then filler rows."""
        examples = self.corpus.splits[SPLIT][:count]
        rows = len(examples) + -len(examples) % self.batching.batch_size_multiple
        chosen, (source, target) = np.arange(len(examples)), examples.lengths.max(0)
        return Batch(
            examples.source.padded(chosen, (rows, source)),
            examples.target.padded(chosen, (rows, target)),
        )

    def sums(
        self,
        objective: Objective,
        names: tuple[str, ...],
        examples: Sequence[Encoded],
        batching: Batching,
    ) -> np.ndarray:
        """Compute the `totals` of each batch of some examples, [batches, names, 2]."""
        batches = in_order(examples, batching)
        sums = [totals(objective, self.model, self.params, batch, names) for _, batch in batches]
        return np.asarray(jax.device_get(sums))


@partial(jax.jit, static_argnames=("objective", "model", "names"))
def totals(
    objective: Objective, model: Any, params: Any, batch: Batch, names: tuple[str, ...]
) -> list[tuple[jax.Array, jax.Array]]:
    """Compute the sums and counts of some metrics of an objective on a batch, without dropout."""
    every = objective(model, params, (), jax.tree.map(jnp.asarray, batch), key=None)
    return [every[name] for name in names]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The attention weights of one head for one example, in [0, 1], as they are drawn.

    `source` has the labels of the columns, `target` those of the rows, and `gold` for each row the
    columns of the gold alignment; (): unknown.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    gold: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """Numbers of a run on the test split, beside the metric of its answers.

    A measure computes outside training and never changes a run. It overrides at least one of
    `at_init`, `after_training` and `with_details`.
    """

    numbers: ClassVar[Numbers]
    """The measure's numbers; a measure whose keys have more than names overrides `keys` instead."""

    shares: ClassVar[frozenset[str]] = frozenset()
    """The names of those numbers that are the share of what is right (or wrong), in [0, 1].

    A claim judges them by `statistics.share_interval`, which never leaves [0, 1].
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "numbers") and cls.keys is Measure.keys:
            raise UserError(
                f"the measure {cls.__name__} names no number: wanted numbers = "
                '{"NAME": "higher"}, or "lower", or None'
            )
        known = {*getattr(cls, "numbers", cls.shares)}
        if nameless := sorted({*cls.shares} - known):
            raise UserError(
                f"the shares of the measure {cls.__name__} must be among its numbers, "
                f"{', '.join(sorted(known))}; got {', '.join(nameless)}"
            )

    def keys(self, metric: Metric | None) -> Sequence[MetricKey]:
        """Return the keys of the measurements of a run with this metric; None: it has no answers.

        A claim about any other key is refused before training.
        """
        return tuple(map(MetricKey, self.numbers))

    def measured(self, *values: float) -> list[Measurement]:
        """Return measurements of these values, in the order of `numbers`."""
        return [
            Measurement(MetricKey(name), float(value), better)
            for (name, better), value in zip(self.numbers.items(), values, strict=True)
        ]

    def check(self, model: Model, corpus: Corpus) -> None:
        """Refuse, before training, a model or a corpus that the measure cannot measure.

        Raises:
            UserError: the corpus has no test split, or the measure finds nothing to measure.
        """
        if not corpus.splits.get(SPLIT):
            raise UserError(f"{type(self).__name__} needs a {SPLIT} split; the corpus has none")

    def at_init(self, inputs: EvalInputs) -> Sequence[Measurement]:
        """Measure the initial parameters."""
        return ()

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        """Measure the trained parameters."""
        return ()

    def with_details(self, inputs: EvalInputs) -> tuple[Sequence[Measurement], Mapping[str, Any]]:
        """Measure as `after_training`, and return more numbers as JSON for result.json.

        No claim names any of these. A measure that has such numbers overrides this instead of
        `after_training`.
        """
        return self.after_training(inputs), {}


def check_distributions(measure: Measure, model: Model) -> None:
    """Refuse, before training, a model whose rows of weights do not sum to 1."""
    parts = (part for _, part in walk(model) if isinstance(part, Align))
    if loose := sorted({type(part).__name__ for part in parts if not part.sums_to_one}):
        raise UserError(
            f"{type(measure).__name__} reads a row of weights as a distribution over keys, whose "
            f"weights are at least 0 and sum to 1; those of {', '.join(loose)} do not: leave the "
            "measure out, or choose another align"
        )
