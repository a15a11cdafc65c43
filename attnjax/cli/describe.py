"""The output of `attnjax show`: an experiment's tree, parameters, and cost of a training step."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from attnjax.attention.attention import Attention
from attnjax.attention.fused import dispatch
from attnjax.config.walk import field_names, is_part, walk
from attnjax.data.batching import Batch
from attnjax.data.corpus import Corpus
from attnjax.data.vocabularies import SIDES
from attnjax.errors import NoCorpus
from attnjax.experiment import Experiment
from attnjax.training.flops import product_flops
from attnjax.training.step import initial_state, train_step


def describe(experiment: Experiment) -> Iterator[RenderableType]:
    """The lines of the output; parameters and costs are left out if the data are not here."""
    yield tree(experiment)
    for path, part in walk(experiment):
        if isinstance(part, Attention):
            yield Text(f"{path}: {dispatch.describe(part)}")
    try:
        corpus = experiment.task.load()
        resolved = experiment.resolve(corpus)
    except NoCorpus as error:
        yield Text(f"parameters and FLOPs depend on the data: {error}")
        return
    parameters, flops, shape = costs(resolved, corpus)
    for note in corpus.notes:
        yield Text(f"data: {note}")
    for side, size in zip(SIDES, corpus.vocabularies.sizes, strict=True):
        if size is not None:
            yield Text(f"{side} vocabulary: {size:,}")
    yield Text(f"parameters: {parameters:,}")
    yield Text(
        f"a training step: {flops:.3g} FLOPs in matrix products, at [B, S, T] = {list(shape)}"
    )


def tree(experiment: Experiment) -> Tree:
    """The tree of all fields with their values."""
    drawn = Tree(Text(type(experiment).__name__))
    _grow(drawn, experiment)
    return drawn


def _grow(drawn: Tree, part: Any) -> None:
    for name in field_names(type(part)):
        value = getattr(part, name)
        if is_part(value):
            _grow(drawn.add(Text(f"{name}: {type(value).__name__}")), value)
        elif isinstance(value, tuple) and any(map(is_part, value)):
            below = drawn.add(Text(name))
            for item in value:
                _grow(below.add(Text(type(item).__name__)), item)
        else:
            drawn.add(Text(f"{name} = {value!r}"))


def costs(experiment: Experiment, corpus: Corpus) -> tuple[int, int, tuple[int, int, int]]:
    """The number of parameters, the FLOPs of a training step, and the largest batch's [B, S, T].

    Nothing is compiled or allocated.
    """
    plan = experiment.training.batching.plan(corpus.splits["train"])
    rows, source, target = max(plan.shapes, key=lambda shape: shape[0] * max(shape[1:]))

    def batch(rows: int) -> Any:
        example = plan.batch(0, 0)
        shapes = (
            (rows, source, *example.source.shape[2:]),
            (rows, target, *example.target.shape[2:]),
            (rows,),
        )
        kinds = (array.dtype for array in example)
        return Batch._make(map(jax.ShapeDtypeStruct, shapes, kinds))

    initial = partial(initial_state, recipe=experiment.recipe)
    state = jax.eval_shape(initial, jax.random.key(0), batch(1))
    parameters = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    step = partial(train_step, recipe=experiment.recipe, reduce=lambda sums: sums)
    return parameters, product_flops(step, state, batch(rows)), (rows, source, target)
