"""Where the first number that is not finite arises in a step."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.evaluation.flops import AnyBatch
from attnjax.nn.paths import flat, named
from attnjax.nn.watched_outputs import watched_outputs
from attnjax.training.settings import Recipe
from attnjax.training.step import State, cast, products


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What is not finite in a step: parameters before it, modules' outputs, gradients.

    The outputs are in the order of the computation, without those that are infinite by design, see
    `diagnose`.
    """

    params: tuple[str, ...]
    outputs: tuple[str, ...]
    loss: float
    gradients: tuple[str, ...]

    def __str__(self) -> str:
        if self.params:
            return f"parameters are not finite before the step: {named(self.params, 3)}"
        loss = f"the loss is {self.loss:.4g}"
        if self.outputs:
            return f"it arises in the output of the module {self.outputs[0]}; {loss}"
        if not np.isfinite(self.loss):
            return f"it arises after the model, in the objective: {loss}"
        if self.gradients:
            return (
                f"it arises in the gradient: {loss}, and the gradients of these parameters are not "
                f"finite: {named(self.gradients, 3)}"
            )
        return f"all is finite: {loss}"


def diagnose(
    state: State,
    batch: AnyBatch,
    *,
    recipe: Recipe,
    healthy: tuple[State, AnyBatch] | None = None,
) -> Diagnosis:
    """Compute a step again from the state before it, and say what in it is not finite.

    `healthy` is another state and batch, whose step was finite: what is infinite or no number in it
    too, such as masked logits or padding, is so by design.
    """
    usual = {} if healthy is None else _outputs(*healthy, recipe)
    outputs = [
        name
        for name, flags in _outputs(state, batch, recipe).items()
        if (flags & ~usual.get(name, np.zeros(2, bool))).any()
    ]
    gradient = jax.jit(jax.grad(partial(_loss, recipe=recipe), has_aux=True))
    gradients, (loss, count) = gradient(state.params, state, batch)
    return Diagnosis(
        params=_not_finite(state.params),
        outputs=tuple(outputs),
        loss=float(loss / count),
        gradients=_not_finite(gradients),
    )


def _loss(params: Any, state: State, batch: AnyBatch, recipe: Recipe) -> Any:
    """The sum of the loss, and with it the sum and its count."""
    key = jax.random.fold_in(state.key, state.step)
    params = cast(params, recipe.training.precision)
    with products(recipe.training.precision):
        loss = recipe.objective(recipe.model, params, state.objective, batch, key=key)["loss"]
    return loss[0], loss


def _outputs(state: State, batch: AnyBatch, recipe: Recipe) -> Mapping[str, np.ndarray]:
    """Whether the output of each module has infinities and nan, in the order of the computation."""
    names: list[str] = []
    calls = Counter[str]()
    flags: dict[int, np.ndarray] = {}

    def note(number: int, seen: Any) -> None:
        flags[number] = flags.get(number, np.zeros(2, bool)) | np.asarray(seen)

    def watch(name: str, arrays: Sequence[jax.Array]) -> None:
        kinds = [[jnp.isinf(array).any(), jnp.isnan(array).any()] for array in arrays]
        jax.debug.callback(partial(note, len(names)), jnp.array(kinds).any(0))
        calls[name] += 1
        names.append(name if calls[name] == 1 else f"{name}, call {calls[name]}")

    with watched_outputs(watch):
        # a new function, so that it is traced again
        loss = jax.jit(lambda state, batch: _loss(state.params, state, batch, recipe))
        jax.block_until_ready(loss(state, batch))
    jax.effects_barrier()
    return {names[number]: flags[number] for number in sorted(flags)}


def _not_finite(tree: Any) -> tuple[str, ...]:
    return tuple(name for name, array in flat(tree).items() if not np.isfinite(array).all())
