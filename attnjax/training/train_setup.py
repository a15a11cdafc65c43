"""A recipe with its data: the batches and the initial states that runs of several seeds share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import jax
import numpy as np

from attnjax.data.batching import Batch, BatchPlan, in_order
from attnjax.data.corpus import Corpus
from attnjax.training.settings import Recipe
from attnjax.training.step import State, initial_state


@dataclass(frozen=True, kw_only=True)
class TrainSetup:
    """A recipe and its data, cut into batches.

    Attributes:
        recipe: model, objective, optimizer and training.
        plan: the training batches.
        valid: the validation batches; (): there is no validation.
        initial: for a seed, parameters that its run begins with, by their paths; the others are
            drawn.
    """

    recipe: Recipe
    plan: BatchPlan
    valid: tuple[Batch, ...]
    initial: Mapping[int, Mapping[str, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(cls, recipe: Recipe, corpus: Corpus) -> "TrainSetup":
        """Cut the split "train", and "valid" if there is one, into batches.

        Raises:
            UserError: as `Recipe.check`.
        """
        batching, examples = recipe.training.batching, corpus.splits.get("valid")
        recipe.check(corpus)
        valid = tuple(batch for _, batch in in_order(examples, batching)) if examples else ()
        return cls(recipe=recipe, plan=batching.plan(corpus.splits["train"]), valid=valid)

    def initial_state(self, seed: int) -> State:
        """The initial state of the run of a seed.

        The drawing is not compiled: compiling it takes XLA longer than drawing without.
        """
        return self._draw(jax.random.key(seed), self.initial.get(seed, {}))

    def state_shapes(self) -> State:
        """The shapes of a run's state; nothing is drawn."""
        return jax.eval_shape(partial(self._draw, given={}), jax.random.key(0))

    def _draw(self, key: jax.Array, given: Mapping[str, np.ndarray]) -> State:
        return initial_state(key, self.plan.batch(0, 0), recipe=self.recipe, given=given)
