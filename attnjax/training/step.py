"""One update as a pure function: state and batch in, state and metrics out."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import optax
from flax import struct

from attnjax.nn.parameter_kinds import keep_untrained, map_by_kind, trained_only
from attnjax.nn.paths import flat, unflat
from attnjax.nn.product import rounded_products
from attnjax.training.accumulation import accumulate
from attnjax.training.objectives.base import Totals
from attnjax.training.settings import Precision, Recipe


class OverDevices(Protocol):
    """The sum over all devices of function(held, rows); the rows are a device's share of the batch.

    What is replicated on all devices is an argument, not a closure.
    """

    def __call__[T](self, function: Callable[[Any, Any], T], held: Any, batch: Any, /) -> T: ...


def on_one_device[T](function: Callable[[Any, Any], T], held: Any, batch: Any, /) -> T:
    """Return the sum over the only device."""
    return function(held, batch)


@struct.dataclass
class State:
    """Everything that training changes, which is also the content of a checkpoint."""

    step: jax.Array
    params: Any
    optimizer: Any
    objective: Any
    key: jax.Array  # the update after step n draws from fold_in(key, n)


def initial_state(
    key: jax.Array, batch: Any, *, recipe: Recipe, given: Mapping[str, Any] = MappingProxyType({})
) -> State:
    """Draw the state before the first update from `key`, with shapes taken from `batch`.

    Parameters in `given`, by their paths with dots, have the values there instead.
    """
    # one row gives the shapes; its predictions are thrown away
    source, target = jnp.asarray(batch.source[:1]), jnp.asarray(batch.target[:1])
    variables = recipe.model.init(key, source, target, deterministic=True)
    params = variables.get("params", {})  # a model may have none
    if given:
        drawn = flat(params)
        taken = {name: jnp.asarray(given[name], drawn[name].dtype) for name in given}
        params = unflat(drawn | taken)
    optimizer = recipe.optimizer.make().init(params)
    return State(jnp.zeros((), jnp.int32), params, optimizer, recipe.objective.initial(), key)


def state_shapes(recipe: Recipe, batch: Any) -> State:
    """Return the shapes of a state; nothing is drawn. The batch may consist of shapes itself."""
    return jax.eval_shape(partial(initial_state, recipe=recipe), jax.random.key(0), batch)


def train_step(
    state: State,
    batch: Any,
    *,
    recipe: Recipe,
    over_devices: OverDevices,
    rate: jax.Array | None = None,
) -> tuple[State, dict[str, jax.Array]]:
    """Return the state after one update, and the mean of each metric.

    "gradient_norm", the norm before clipping, and "tokens", the count, are added to the metrics;
    also "skipped", 1 or 0, if updates that are not finite are skipped (`Training.not_finite`).
    Gradients and metrics stay sums until those of all micro-batches and devices are added up, and
    are then divided by the count: a mean of means would weigh the tokens of short sentences more.
    The running statistics of batch norms take a step of their own, and constants stay, see
    `attnjax.nn.parameter_kinds`. Without a rate the optimizer's schedule gives it.
    """
    key = jax.random.fold_in(state.key, state.step)

    def loss(params: Any, objective: Any, key: jax.Array, rows: Any) -> tuple[jax.Array, Totals]:
        cast_params = cast(params, recipe.training.precision)
        totals = recipe.objective(recipe.model, cast_params, objective, rows, key=key)
        return totals["loss"][0], totals

    def gradient(held: Any, rows: Any) -> tuple[Any, Totals]:
        of_rows = partial(jax.grad(loss, has_aux=True), *held)
        return accumulate(of_rows, rows, recipe.training.device_tokens)

    with products(recipe.training.precision):
        sums, totals = over_devices(gradient, (state.params, state.objective, key), batch)
    count = totals["loss"][1]
    gradients = jax.tree.map(lambda x: x / count.astype(x.dtype), trained_only(sums))
    transform = recipe.optimizer.make(rate)
    updates, optimizer = transform.update(gradients, state.optimizer, state.params)
    params = keep_untrained(optax.apply_updates(state.params, updates), state.params, sums)
    metrics = {name: total / number for name, (total, number) in totals.items()}
    metrics["tokens"] = count
    metrics["gradient_norm"] = optax.tree.norm(gradients)
    objective = recipe.objective.update_state(state.objective, totals)
    after = State(state.step + 1, params, optimizer, objective, state.key)
    if recipe.training.not_finite == "skip":
        after, metrics["skipped"] = skip_unless_finite(state, after, metrics)
    return after, metrics


def skip_unless_finite(
    before: State, after: State, metrics: Mapping[str, jax.Array]
) -> tuple[State, jax.Array]:
    """Return the state before an update whose loss or gradient is not finite, else that after it.

    Whole numbers are always those after it: they are the counts that a schedule of the learning
    rate goes by. The second result says whether the update was skipped, 0.0 or 1.0.
    """
    finite = jnp.isfinite(metrics["loss"]) & jnp.isfinite(metrics["gradient_norm"])

    def keep(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(finite, new, old) if jnp.issubdtype(new.dtype, jnp.inexact) else new

    return jax.tree.map(keep, after, before), 1.0 - finite.astype(jnp.float32)


def train_step_at(
    held: tuple[State, jax.Array], batch: Any, *, recipe: Recipe, over_devices: OverDevices
) -> tuple[State, dict[str, jax.Array]]:
    """Update as `train_step` does, for a pair of a state and its learning rate."""
    state, rate = held
    return train_step(state, batch, recipe=recipe, over_devices=over_devices, rate=rate)


def evaluation_step(
    params: Any, batch: Any, *, recipe: Recipe, over_devices: OverDevices
) -> Totals:
    """Return a batch's sums and counts, without dropout and with a fresh objective state."""
    state = recipe.objective.initial()

    def totals(params: Any, rows: Any) -> Totals:
        cast_params = cast(params, recipe.training.precision)
        of_rows = partial(recipe.objective, recipe.model, cast_params, state, key=None)
        return accumulate(of_rows, rows, recipe.training.device_tokens)

    with products(recipe.training.precision):
        return over_devices(totals, params, batch)


def products(precision: Precision) -> AbstractContextManager[object]:
    """Return the context in which everything is computed in a precision, gradients included."""
    return rounded_products() if precision == "bfloat16_products" else nullcontext()


def cast(params: Any, precision: Precision) -> Any:
    """Copy the parameters in the precision of the computation; updates use the original.

    Running statistics and constants are not rounded: a step of such an average is a small part of
    it, and the rows of a random projection stay orthogonal.
    """
    if precision != "bfloat16":
        return params
    return map_by_kind(lambda kind, leaf: leaf.astype(precision) if kind.trained else leaf, params)
