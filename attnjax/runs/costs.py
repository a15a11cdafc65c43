"""The costs of a training: parameters, and the FLOPs and tokens of a step."""

from functools import partial
from typing import Any, NamedTuple

import jax

from attnjax.data.batching import Batch
from attnjax.data.corpus import Corpus
from attnjax.experiment import Experiment
from attnjax.training.flops import product_flops
from attnjax.training.step import initial_state, on_one_device, train_step


class Costs(NamedTuple):
    """The costs of a training.

    Attributes:
        parameters: the number of parameters.
        flops: the FLOPs of a training step on the largest batch, in matrix products.
        shape: B, S and T of that batch.
        tokens: the mean number of target symbols of a step.
    """

    parameters: int
    flops: int
    shape: tuple[int, int, int]
    tokens: float


def costs(experiment: Experiment, corpus: Corpus) -> Costs:
    """The costs of a resolved experiment; nothing is compiled or allocated."""
    plan = experiment.training.batching.plan(corpus.splits["train"])
    rows, source, target = max(plan.shapes, key=lambda shape: shape[0] * max(shape[1:]))

    def batch(rows: int) -> Any:
        example = plan.batch(0, 0)
        shapes = (
            (rows, source, *example.source.shape[2:]),
            (rows, target, *example.target.shape[2:]),
        )
        kinds = (array.dtype for array in example)
        return Batch._make(map(jax.ShapeDtypeStruct, shapes, kinds))

    initial = partial(initial_state, recipe=experiment.recipe)
    state = jax.eval_shape(initial, jax.random.key(0), batch(1))
    parameters = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    step = partial(train_step, recipe=experiment.recipe, over_devices=on_one_device)
    symbols = sum(len(example.target) for example in corpus.splits["train"])
    return Costs(
        parameters=parameters,
        flops=product_flops(step, state, batch(rows)),
        shape=(rows, source, target),
        tokens=symbols / plan.per_epoch,
    )
