"""Where the first number that is not finite arises."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.trained.diagnosis import diagnose
from attnjax.training.objectives.base import CrossEntropy, Totals
from attnjax.training.optimizers import Adam
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import State, initial_state
from tests.tiny import base
from tests.training.toy import Toy, ragged

BATCH = ragged(1, seed=0)[0]


def begin(objective: Any, model: Any) -> tuple[State, Recipe]:
    recipe = Recipe(model=model, objective=objective, optimizer=Adam(), training=Training())
    return initial_state(jax.random.key(0), BATCH, recipe=recipe), recipe


def with_params(state: State, change: Any) -> State:
    return state.replace(params=jax.tree_util.tree_map_with_path(change, state.params))


def test_a_healthy_step():
    state, recipe = begin(CrossEntropy(), Toy())
    found = diagnose(state, BATCH, recipe=recipe)
    assert (found.params, found.outputs, found.gradients) == ((), (), ())
    assert np.isfinite(found.loss)
    assert str(found).startswith("all is finite: the loss is ")


def test_spoiled_parameters():
    state, recipe = begin(CrossEntropy(), Toy())
    spoiled = with_params(state, lambda path, x: x * jnp.nan if "table" in str(path) else x)
    found = diagnose(spoiled, BATCH, recipe=recipe)
    assert str(found) == "parameters are not finite before the step: table"


@pytest.mark.long
def test_a_module_whose_sum_overflows():
    """Masked logits are infinite in every step, so that a healthy one tells them apart."""
    model: Any = base.model
    model = model.clone(vocabulary=11)
    state, recipe = begin(CrossEntropy(), model)

    def large(path: Any, x: jax.Array) -> jax.Array:
        names = [str(getattr(key, "key", key)) for key in path]
        inside = names[:2] == ["decoder_layers_0", "feed_forward"]
        return jnp.full_like(x, 3e38) if inside and names[-1] == "kernel" else x

    spoiled = with_params(state, large)
    found = diagnose(spoiled, BATCH, recipe=recipe, healthy=(state, BATCH))
    assert found.params == ()
    assert found.outputs[0].startswith("decoder_layers_0.feed_forward.hidden (")
    assert f"the module {found.outputs[0]}; the loss is" in str(found)
    assert diagnose(state, BATCH, recipe=recipe, healthy=(state, BATCH)).outputs == ()


@dataclass(frozen=True, kw_only=True)
class Rooted(CrossEntropy):
    """The root of 0 has no gradient."""

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Any) -> Totals:
        totals = super().__call__(model, params, state, batch, key=key)
        loss, count = totals["loss"]
        return {**totals, "loss": (loss + jnp.sqrt((0 * params["table"]).sum()), count)}


def test_a_gradient_of_a_finite_loss():
    state, recipe = begin(Rooted(), Toy())
    found = diagnose(state, BATCH, recipe=recipe)
    assert np.isfinite(found.loss)
    assert found.gradients == ("table",)
    assert "it arises in the gradient" in str(found)
    assert str(found).endswith("are not finite: table")
