"""The coordinate check: do updates move a model's vectors by numbers that no width changes?"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.batching import in_order
from attnjax.experiment.experiment import Experiment
from attnjax.models.module_outputs import module_outputs
from attnjax.training.objectives.base import shifted
from attnjax.training.settings import Recipe
from attnjax.training.step import State, initial_state, on_one_device, train_step

EXAMPLES = 16
"""The number of training examples of the batch that all updates are made on."""


def coordinate_changes(
    experiment: Experiment, *, steps: int = 4, seed: int = 0
) -> dict[str, float]:
    """Return how far a few updates move the output of each module, by its path in the model.

        sqrt(mean over positions and features of (x_n - x_0)^2)

    for the outputs x_n after n updates, of one batch of training examples, on which all updates are
    made; the output of the model itself, its logits, has the path "". They are computed without
    dropout.

    Source: Yang et al. 2022, Figure 5 and appendix D.1 ("coordinate checking").
    """
    experiment = experiment.of_seed(seed)
    corpus = experiment.task.load()
    recipe = experiment.resolve(corpus).recipe
    examples = corpus.splits["train"][:EXAMPLES]
    _, batch = next(in_order(examples, recipe.training.batching.with_room(examples, shapes=1)))
    return {
        path: float(size)
        for path, size in _changes(jax.random.key(seed), batch, recipe=recipe, steps=steps).items()
    }


def coordinate_growth(experiments: Mapping[float, Experiment], **options: Any) -> dict[str, float]:
    """Return the slope of log `coordinate_changes` against log width, by a module's path.

    The keys are the widths. About 0: one rate suits all widths. Above 0: at the same rate a wider
    model is changed more by each update, and in the end by too much.
    """
    changes = [coordinate_changes(experiment, **options) for experiment in experiments.values()]
    widths = np.log([*experiments])
    return {
        path: float(np.polyfit(widths, np.log([changed[path] for changed in changes]), 1)[0])
        for path in changes[0]
    }


@partial(jax.jit, static_argnames=("recipe", "steps"))
def _changes(key: jax.Array, batch: Any, *, recipe: Recipe, steps: int) -> dict[str, jax.Array]:
    def update(_: Any, state: State) -> State:
        after, _ = train_step(state, batch, recipe=recipe, over_devices=on_one_device)
        return after

    before = initial_state(key, batch, recipe=recipe)
    after = jax.lax.fori_loop(0, steps, update, before)
    given = jnp.asarray(batch.source), shifted(jnp.asarray(batch.target))
    old, new = (module_outputs(recipe.model, x.params, *given, {}) for x in (before, after))
    return {path: jnp.sqrt(jnp.mean((new[path] - old[path]) ** 2)) for path in old}
