"""Rematerialization changes no loss, gradient, draw or sown value, and takes less memory."""

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

from attnjax.config.vary import vary
from attnjax.nn.remat import KeepInputs, KeepProducts, Remat
from tests.models.small import GIVEN, SOURCE, initial, small


def with_remat(model: Any, remat: Remat | None) -> Any:
    return vary(model, {"encoder_layer.remat": remat, "decoder_layer.remat": remat})


def loss(params: Any, model: Any, source: Any, given: Any) -> Any:
    logits, sown = model.apply(
        {"params": params},
        source,
        given,
        deterministic=False,
        rngs={"dropout": jax.random.key(2)},
        mutable=["attention"],
    )
    return jax.numpy.sin(logits).sum(), sown


@pytest.mark.parametrize(
    "other",
    [KeepInputs(), pytest.param(KeepProducts(), marks=pytest.mark.long)],
    ids=lambda other: type(other).__name__,
)
@pytest.mark.usefixtures("float64")
def test_losses_gradients_draws_and_sown_weights_stay(other):
    model = small(layers=1, dropout=0.3)
    params = initial(model)
    found = [
        jax.jit(
            partial(
                jax.value_and_grad(loss, has_aux=True),
                model=with_remat(model, remat),
                source=SOURCE,
                given=GIVEN,
            )
        )(params)
        for remat in (None, other)
    ]
    assert len(jax.tree.leaves(found[0][0][1])) > 0
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-12), *found)


def temporaries(model: Any) -> int:
    """The bytes that the compiled gradient needs beside its arguments and results."""
    source, given = (jax.ShapeDtypeStruct((8, 64), np.int32) for _ in range(2))
    init = partial(model.init, deterministic=True, mutable=["params"])
    params = jax.eval_shape(init, jax.random.key(0), source, given)["params"]
    gradient = jax.jit(jax.grad(lambda params, *batch: loss(params, model, *batch)[0]))
    compiled = gradient.lower(params, source, given)
    analysis = compiled.compile({"xla_backend_optimization_level": 0}).memory_analysis()
    return analysis.temp_size_in_bytes


@pytest.mark.long
def test_less_is_kept_and_less_memory_is_taken():
    everything, products, inputs = (
        temporaries(with_remat(small(layers=4), remat))
        for remat in (None, KeepProducts(), KeepInputs())
    )
    assert inputs < products < everything
    assert inputs < everything / 2
