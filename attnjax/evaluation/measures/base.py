"""What every measure is, and what it is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from attnjax.data.batching import Batching
from attnjax.data.corpus import Corpus
from attnjax.errors import UserError
from attnjax.evaluation.measurement import Measurement
from attnjax.evaluation.sentence_stats import Sentences
from attnjax.models.base import Model

SPLIT = "test"


class EvalInputs(NamedTuple):
    """What a measure is given: a model with parameters, and the corpus to measure it on.

    Attributes:
        model: with its vocabularies' sizes.
        params: its parameters.
        corpus: its task's.
        batching: how examples are put into batches.
        sentences: the statistics of its answers to the test split; None: nothing was decoded.
        seed: the run's.
    """

    model: Model
    params: Any
    corpus: Corpus
    batching: Batching
    sentences: Sentences | None = None
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The attention weights of one example, as the report draws them.

    Attributes:
        source: the label of each column, [S].
        target: the label of each row, [T].
        weights: [T][S], in [0, 1].
        gold: for each row the columns that the target symbol really comes from; (): unknown.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    gold: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Something measured of a run on the test split, beside the metric of its answers.

    A measure computes outside training and never changes a run. It overrides at least one of
    `at_init`, `after_training` and `pictures`.
    """

    def check(self, model: Model, corpus: Corpus) -> None:
        """Refuse, before anything is trained, a model or a corpus that cannot be measured so.

        Raises:
            UserError: the corpus has no test split, or the measure finds nothing to measure.
        """
        del model
        if not corpus.splits.get(SPLIT):
            raise UserError(f"{type(self).__name__} needs a {SPLIT} split; the corpus has none")

    def at_init(self, inputs: EvalInputs) -> Sequence[Measurement]:
        """Measurements of the parameters that training starts from."""
        del inputs
        return ()

    def after_training(self, inputs: EvalInputs) -> Sequence[Measurement]:
        """Measurements of the trained parameters."""
        del inputs
        return ()

    def pictures(self, inputs: EvalInputs) -> Sequence[Picture]:
        """Pictures of attention weights, for the report."""
        del inputs
        return ()
