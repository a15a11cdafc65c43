"""The costs of a training: parameters, and the FLOPs and tokens of a step."""

from typing import NamedTuple

import jax
import numpy as np

from attnjax.data.batch_plan import Batch, BatchPlan
from attnjax.data.corpus import Corpus
from attnjax.evaluation.flops import AnyBatch, update_flops
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.nn.parameter_kinds import number_trained
from attnjax.training.settings import Recipe
from attnjax.training.step import state_shapes


class Costs(NamedTuple):
    """The number of trained parameters, and the cost of their training."""

    parameters: int
    training: TrainingCost


def costs(recipe: Recipe, corpus: Corpus, plan: BatchPlan) -> Costs:
    """Return the costs of a training on the batches of a plan; nothing is compiled or allocated."""
    batch = largest_batch(plan)
    state = state_shapes(recipe, batch)
    symbols = int(corpus.splits["train"].target.lengths.sum())
    training = TrainingCost(
        steps=recipe.training.steps,
        flops=update_flops(recipe, state, batch),
        shape=(batch.target.shape[0], batch.source.shape[1], batch.target.shape[1]),
        tokens=symbols / plan.per_epoch,
        examples=tuple((split, len(examples)) for split, examples in corpus.splits.items()),
    )
    return Costs(number_trained(state.params), training)


def largest_batch(plan: BatchPlan) -> AnyBatch:
    """Return the shapes of the batch with the most positions."""
    rows, source, target = max(plan.shapes, key=lambda shape: shape[0] * max(shape[1:]))
    first = plan.batch(0, 0)
    # a packed batch has the numbers of the sentences of both sides, too
    sides = zip(first, (source, target) * 2, strict=False)
    return type(first)._make(
        jax.ShapeDtypeStruct((rows, length, *side.shape[2:]), side.dtype) for side, length in sides
    )


def batch_of_text(rows: int, length: int) -> Batch:
    """Return the shapes of a batch of texts with this many symbols on both sides."""
    return Batch._make([jax.ShapeDtypeStruct((rows, length), np.int32)] * 2)
