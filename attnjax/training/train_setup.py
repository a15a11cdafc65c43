"""A recipe with its data: the batches and the initial states that runs of several seeds share."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat

import jax
import numpy as np

from attnjax.data.batch_plan import Batch, BatchPlan
from attnjax.data.corpus import Corpus
from attnjax.training.settings import Recipe
from attnjax.training.step import State, initial_state, state_shapes


@dataclass(frozen=True, kw_only=True)
class TrainSetup:
    """A recipe and its data, cut into batches."""

    recipe: Recipe
    plan: BatchPlan
    valid: tuple[Batch, ...]
    # the training and validation batches of each seed that has data of its own
    own: Mapping[int, tuple[BatchPlan, tuple[Batch, ...]]] = field(default_factory=dict)
    # for a seed, parameters that its run begins with, by their paths; the others are drawn
    initial: Mapping[int, Mapping[str, np.ndarray]] = field(default_factory=dict)

    @classmethod
    def of(cls, recipe: Recipe, corpus: Corpus) -> "TrainSetup":
        """Cut the split "train", and "valid" if there is one, into batches.

        The recipe was checked with the corpus, see `Recipe.check`.
        """
        plan = recipe.training.batching.plan(corpus.splits["train"])
        return cls(recipe=recipe, plan=plan, valid=_in_order(_valid_plan(recipe, corpus)))

    def of_seeds(self, corpus: Corpus, seeds: Collection[int]) -> "TrainSetup":
        """Return the setup of runs that train together, with the data of each from the same corpus.

        Batches have the same shapes for all of the seeds, and as many examples as they have here.

        Raises:
            UserError: the recipe does not fit the data of a seed.
        """
        if corpus.drawn is None:
            return self
        drawn = [corpus.of_seed(seed) for seed in seeds]
        for of_seed in drawn:
            self.recipe.check(of_seed)
        plans = self.plan.like([of_seed.splits["train"] for of_seed in drawn])
        held_out = _valid_plan(self.recipe, corpus)
        valid = (
            held_out.like([of_seed.splits["valid"] for of_seed in drawn])
            if held_out
            else repeat(None)
        )
        own = {
            seed: (plan, _in_order(validation))
            for seed, plan, validation in zip(seeds, plans, valid, strict=False)
        }
        return replace(self, own=own)

    def plan_of(self, seed: int) -> BatchPlan:
        return self.own[seed][0] if seed in self.own else self.plan

    def valid_of(self, seed: int) -> tuple[Batch, ...]:
        return self.own[seed][1] if seed in self.own else self.valid

    def initial_state(self, seed: int) -> State:
        # not compiled: that would take XLA longer than drawing does
        key, given = jax.random.key(seed), self.initial.get(seed, {})
        return initial_state(key, self.plan.batch(0, 0), recipe=self.recipe, given=given)

    def state_shapes(self) -> State:
        return state_shapes(self.recipe, self.plan.batch(0, 0))


def _valid_plan(recipe: Recipe, corpus: Corpus) -> BatchPlan | None:
    examples = corpus.splits.get("valid")
    return recipe.training.batching.unpacked().plan(examples) if examples else None


def _in_order(plan: BatchPlan | None) -> tuple[Batch, ...]:
    return tuple(batch for _, batch in plan.in_order()) if plan else ()
