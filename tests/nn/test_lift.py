"""Templates share no parameters; lifting keeps every variable collection and random stream."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.attention.heads.multihead import MultiHead
from attnjax.nn.lift import (
    clone_template,
    inherit,
    inherited,
    scan_time,
    sow,
    sown,
    vmap_beams,
    vmap_heads,
)
from tests import jitted

B, S, D = 3, 5, 3
X = np.random.default_rng(0).normal(size=(B, S, D)).astype(np.float32)


def test_a_copy_shares_no_module_and_has_the_changes():
    template = MultiHead(heads=4)
    copy = clone_template(template, heads=2)
    assert copy == MultiHead(heads=2)
    assert copy.head is not template.head
    assert copy.head.score is not template.head.score
    assert template.heads == 4
    assert clone_template(3) == 3


class Layer(nn.Module):
    """A part that leaves two fields to its model."""

    inner: nn.Module | None = None
    rate: float | None = None


def test_a_field_that_is_none_is_the_models_and_any_other_stays():
    norm = nn.LayerNorm()
    found = inherit(Layer(), inner=norm, rate=0.25)
    assert found == Layer(inner=norm, rate=0.25)
    assert found.inner is not norm, "two layers would share the parameters"
    assert inherit(Layer(rate=0.0), inner=norm, rate=0.25).rate == 0.0
    assert inherited(found, "rate") == 0.25
    with pytest.raises(ValueError, match="Layer.rate is None.*outside a model, give rate"):
        inherited(Layer(), "rate")


class Shown(nn.Module):
    """Has a parameter, draws a number and sows what it is called with."""

    @nn.compact
    def __call__(self, x):
        self.sow("objective", "seen", x.sum(-1))
        return x + self.param("bias", nn.initializers.normal(), ()) + self.draw()

    def draw(self):
        return jax.random.normal(self.make_rng("sample"))


class Lifted(nn.Module):
    """`Shown` over heads or beams."""

    shown: Shown
    over: str

    def __call__(self, x):
        def call(shown, x):
            return shown(x)

        lift = {"heads": lambda: vmap_heads(call, 1, 1), "beams": lambda: vmap_beams(call)}
        return lift[self.over]()(self.shown, x)


@pytest.mark.parametrize("over, parameters", [("heads", (S,)), ("beams", ())])
def test_heads_have_their_own_parameters_and_draws_and_beams_share_them(over, parameters):
    keys = {"params": jax.random.key(0), "sample": jax.random.key(1)}
    found, variables = jitted.init_with_output(Lifted(Shown(), over), keys, jnp.asarray(X))
    bias = variables["params"]["shown"]["bias"]
    assert bias.shape == parameters
    (seen,) = variables["objective"]["shown"]["seen"]
    np.testing.assert_allclose(seen, X.sum(-1), atol=1e-6)
    added = np.asarray(found - X - np.reshape(np.asarray(bias), (1, -1, 1)))
    draws = np.unique(added.round(4))
    assert len(draws) == (S if over == "heads" else 1)


STREAMS = ("sample", "coin")


class Step(nn.Module):
    """A step with a parameter, random keys and sown values."""

    @nn.compact
    def __call__(self, carry, x):
        carry = carry + x + self.param("weight", nn.initializers.normal(), x.shape[1:])[None]
        self.sow("attention", "weights", carry[:, None])
        self.sow("objective", "seen", carry[:, 0])
        noise, coin = (jax.random.normal(self.make_rng(name), x.shape) for name in STREAMS)
        return carry, (noise, coin)


class OverTime(nn.Module):
    """`Step` over time."""

    step: Step
    direction: str

    def __call__(self, x):
        run = scan_time(lambda step, carry, x: step(carry, x), direction=self.direction)
        return run(self.step, jnp.zeros_like(x[:, 0]), x)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_time_keeps_every_collection_and_draws_anew_at_every_step(direction):
    x = jnp.asarray(X)
    keys = {name: jax.random.key(0) for name in ("params", *STREAMS)}
    module = OverTime(Step(), direction)
    (last, (noise, coin)), variables = jitted.init_with_output(module, keys, x)
    weight = variables["params"]["step"]["weight"]
    assert weight.shape == (D,)
    # At its own place: the sum of the words up to there, from the end that it began at.
    order = slice(None) if direction == "forward" else slice(None, None, -1)
    sums = np.cumsum(X[:, order] + np.asarray(weight), axis=1)[:, order]
    (seen,) = variables["attention"]["step"]["weights"]
    assert seen.shape == (B, S, 1, D)
    np.testing.assert_allclose(seen[:, :, 0], sums, atol=1e-5)
    np.testing.assert_allclose(variables["objective"]["step"]["seen"][0], sums[..., 0], atol=1e-5)
    np.testing.assert_allclose(last, sums[:, order][:, -1], atol=1e-5)
    assert len(np.unique(noise)) == noise.size
    # The coin is tossed once for all of time.
    np.testing.assert_array_equal(coin, np.broadcast_to(coin[:, :1], coin.shape))


def test_what_is_sown_is_read_by_its_name():
    class Sower(nn.Module):
        @nn.compact
        def __call__(self, x):
            sow(self, "kept", "double", 2 * x)
            sow(self, "kept", "other", x)
            return x

    class Both(nn.Module):
        @nn.compact
        def __call__(self, x):
            return Sower(name="second")(Sower(name="first")(x) + 1)

    _, seen = jitted.apply(Both(), {}, jnp.ones(()), mutable=["kept"])
    assert [float(value) for value in sown(seen, "kept", "double")] == [2, 4]
    assert sown(seen, "kept", "none") == sown(seen, "others", "double") == []


class Scaled(nn.Module):
    """Words times a parameter, which are also sown."""

    @nn.compact
    def __call__(self, carry, x):
        scaled = x * self.param("weight", nn.initializers.ones, x.shape[1:])[None]
        self.sow("attention", "weights", scaled[:, None])
        return carry, scaled


def test_the_gradient_of_a_narrow_parameter_is_summed_over_time_in_float32():
    """A sum of ones in bfloat16 ends at 256."""
    steps = 1_000
    x = jnp.ones((1, steps, D), jnp.bfloat16)
    module = OverTime(Scaled(), "forward")
    weight = jnp.asarray([0.5, 1, 2], jnp.bfloat16)

    def total(weight):
        variables = {"params": {"step": {"weight": weight}}}
        (_, scaled), seen = module.apply(variables, x, mutable=["attention"])
        return scaled.sum(), (scaled, seen["attention"]["step"]["weights"][0][:, :, 0])

    gradient, (scaled, seen) = jax.grad(total, has_aux=True)(weight)
    np.testing.assert_array_equal(gradient, np.full(D, steps))
    for found in (gradient, scaled, seen):
        assert found.dtype == jnp.bfloat16
    np.testing.assert_array_equal(scaled[0], np.tile(weight, (steps, 1)))
    np.testing.assert_array_equal(seen, scaled)
