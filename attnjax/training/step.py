"""One update, as a pure function: state and batch in, state and metrics out."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import struct

from attnjax.training.objectives.base import Totals
from attnjax.training.settings import Precision, Recipe


@struct.dataclass
class State:
    """All that training changes, and all that a checkpoint must hold to go on from it.

    Attributes:
        step: updates done, int32.
        params: the model's parameters.
        optimizer: optax's state.
        objective: the objective's state, see `Objective.initial`.
        key: the run's random key; the update after step n draws from fold_in(key, n).
    """

    step: jax.Array
    params: Any
    optimizer: Any
    objective: Any
    key: jax.Array


def initial_state(key: jax.Array, batch: Any, *, recipe: Recipe) -> State:
    """A state with first parameters, drawn from `key`; the batch gives shapes only."""
    # one row is enough to give the shapes, and what is computed of it is thrown away
    source, given = jnp.asarray(batch.source[:1]), jnp.asarray(batch.target[:1])
    drawn = recipe.model.init(key, source, given, deterministic=True, mutable=["params"])
    params = drawn.get("params", {})  # a model may have none
    optimizer = recipe.optimizer.make().init(params)
    return State(jnp.zeros((), jnp.int32), params, optimizer, recipe.objective.initial(), key)


def train_step(
    state: State,
    batch: Any,
    *,
    recipe: Recipe,
    reduce: Callable[[Any], Any],
    rate: jax.Array | None = None,
) -> tuple[State, dict[str, jax.Array]]:
    """The state after one update, and each metric's mean with the gradient's norm before clipping.

    Gradients and metrics are sums until `reduce` has added those of all devices, and only then
    divided by the count: a mean of means would weigh the tokens of short sentences more. The
    learning rate is `rate`, or else the optimizer's schedule's.
    """
    key = jax.random.fold_in(state.key, state.step)

    def loss(params: Any) -> tuple[jax.Array, Totals]:
        cast_params = cast(params, recipe.training.precision)
        totals = recipe.objective(recipe.model, cast_params, state.objective, batch, key=key)
        return totals["loss"][0], totals

    gradients, totals = reduce(jax.grad(loss, has_aux=True)(state.params))
    count = totals["loss"][1]
    gradients = jax.tree.map(lambda gradient: gradient / count.astype(gradient.dtype), gradients)
    transform = recipe.optimizer.make(rate)
    updates, optimizer = transform.update(gradients, state.optimizer, state.params)
    params = optax.apply_updates(state.params, updates)
    metrics = {name: total / number for name, (total, number) in totals.items()}
    metrics["tokens"] = count
    metrics["gradient_norm"] = optax.tree.norm(gradients)
    objective = recipe.objective.update_state(state.objective, totals)
    return State(state.step + 1, params, optimizer, objective, state.key), metrics


def train_step_at(
    held: tuple[State, jax.Array], batch: Any, *, recipe: Recipe, reduce: Callable[[Any], Any]
) -> tuple[State, dict[str, jax.Array]]:
    """As `train_step`, at a learning rate that comes with the state."""
    state, rate = held
    return train_step(state, batch, recipe=recipe, reduce=reduce, rate=rate)


def evaluation_step(
    params: Any, batch: Any, *, recipe: Recipe, reduce: Callable[[Any], Any]
) -> Totals:
    """A batch's sums and counts, without dropout, by an objective in its first state."""
    params = cast(params, recipe.training.precision)
    state = recipe.objective.initial()
    return reduce(recipe.objective(recipe.model, params, state, batch, key=None))


def cast(params: Any, precision: Precision) -> Any:
    """The parameters to compute with; those that are updated stay as wide as they are."""
    if precision == "float32":
        return params
    return jax.tree.map(lambda leaf: leaf.astype(precision), params)
