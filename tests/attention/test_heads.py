"""Heads that share keys and values, and heads that are taken out."""

from functools import partial
from typing import Any

import chex
import jax
import numpy as np
import pytest

from attnjax.attention.align.local import LocalPredictive
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Padding
from attnjax.attention.score.base import Additive, General
from attnjax.attention.score.kernel import Gaussian
from attnjax.config.vary import vary
from attnjax.errors import UserError
from tests import jitted
from tests.models.small import GIVEN, SOURCE, initial, small
from tests.models.stepwise import stepped_and_parallel

B, T, D, H = 2, 5, 8, 4
MASK = Causal() & Padding(np.array([[True] * T, [False, *[True] * (T - 1)]]))


def drawn(module, x):
    """Random parameters, biases too."""
    start = jax.eval_shape(
        lambda: module.init(jax.random.key(0), x, deterministic=True, mutable=["params"])["params"]
    )
    draw = np.random.default_rng(0).normal
    return jax.tree.map(lambda leaf: draw(size=leaf.shape).astype(x.dtype), start)


def inputs(dtype=np.float64):
    draw = np.random.default_rng(1).normal
    return draw(size=(B, T, D)).astype(dtype), draw(size=(B, T, D)).astype(dtype)


def with_gradients(module, direction):
    def read(parameters, x):
        context, seen = module.apply(
            {"params": parameters}, x, mask=MASK, deterministic=True, mutable=["attention"]
        )
        alone = module.apply({"params": parameters}, x, mask=MASK, deterministic=True)
        return (alone * direction).sum() + (context * direction).sum(), (context, alone, seen)

    read = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))
    return lambda *given: jax.device_get(read(*given))


@pytest.mark.parametrize("key_heads", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.parametrize(
    "head",
    [
        Attention(implementation="dense"),
        Attention(implementation="blockwise"),
        Attention(score=General()),
        Attention(score=Gaussian(), align=LocalPredictive(reach=3)),
    ],
    ids=["dense", "blockwise", "general", "local"],
)
def test_shared_keys_equal_copied_keys(head, key_heads, float64):
    """With gradients: a shared map's is the sum of its copies'. Sown weights are the same too."""
    x, direction = inputs()
    shared = MultiHead(head=head, heads=H, key_heads=key_heads, bias=True)
    copied = shared.clone(key_heads=None)
    parameters = drawn(shared, x)
    assert parameters["key"]["kernel"].shape == (D, key_heads, D // H)
    assert parameters["query"]["kernel"].shape == (D, H, D // H)

    def copies(parameters):
        maps = {
            name: {
                "kernel": np.repeat(parameters[name]["kernel"], H // key_heads, axis=1),
                "bias": np.repeat(parameters[name]["bias"], H // key_heads, axis=0),
            }
            for name in ("key", "value")
        }
        return {**parameters, **maps}

    (_, found), slopes = with_gradients(shared, direction)(parameters, x)
    (_, expected), copied_slopes = with_gradients(copied, direction)(copies(parameters), x)
    added_up = {**copied_slopes[0]}
    for name in ("key", "value"):  # a copy's gradient is added to that of what it copies
        own = copied_slopes[0][name]
        added_up[name] = {
            "kernel": own["kernel"].reshape(D, key_heads, -1, D // H).sum(2),
            "bias": own["bias"].reshape(key_heads, -1, D // H).sum(1),
        }
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-12)
    chex.assert_trees_all_close(slopes[1], copied_slopes[1], rtol=0, atol=1e-11)
    chex.assert_trees_all_close(slopes[0], added_up, rtol=0, atol=1e-11)
    (weights,) = found[2]["attention"]["head"]["weights"]
    assert weights.shape == (B, H, T, T)


def test_the_memory_holds_the_heads_of_keys_alone():
    x, _ = inputs(np.float32)
    module = MultiHead(heads=H, key_heads=2)
    memory = jitted.apply(module, {"params": drawn(module, x)}, x, x, method="prepare")
    assert [leaf.shape for leaf in jax.tree.leaves(memory)] == [(B, 2, T, D // H)] * 2


@pytest.mark.long
def test_a_search_holds_them_alone_too(float64):
    model = vary(small(layers=1), {"**.key_heads": 1})
    parameters = initial(model)
    call: Any = partial(model.apply, {"params": parameters})
    memory, mask = call(SOURCE, deterministic=True, method="encode")
    constants, cache, _ = call(memory, mask, length=3, beams=2, method="start")
    for leaf in jax.tree.leaves((constants[0], cache)):
        assert leaf.shape[:2] == (len(SOURCE), 1)
    stepped, parallel = stepped_and_parallel(model, parameters, SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "module, sentence",
    [
        (MultiHead(heads=4, key_heads=3), "4 heads cannot share 3 key_heads equally"),
        (MultiHead(heads=2, key_heads=4), "2 heads cannot share 4 key_heads equally"),
        (
            MultiHead(head=Attention(score=Additive()), heads=4, key_heads=2),
            "Additive has parameters for the keys of each head",
        ),
        (MultiHead(heads=4, heads_out=(1, 4)), r"heads_out \(1, 4\): the heads are 0 to 3"),
    ],
)
def test_heads_that_do_not_fit_are_refused(module, sentence):
    x, _ = inputs(np.float32)
    with pytest.raises(UserError, match=sentence):
        jitted.init(module, jax.random.key(0), x, deterministic=True)


@pytest.mark.parametrize("score", [None, General()], ids=["at once", "lifted"])
def test_a_head_taken_out_is_one_whose_rows_of_out_are_zero(score, float64):
    x, direction = inputs()
    head = Attention() if score is None else Attention(score=score)
    whole = MultiHead(head=head, heads=H, bias=True)
    parameters = drawn(whole, x)
    chex.assert_trees_all_equal_shapes(parameters, drawn(whole.clone(heads_out=(1, 3)), x))
    kernel = parameters["out"]["kernel"].copy()
    kernel[[1, 3]] = 0
    zeroed = {**parameters, "out": {**parameters["out"], "kernel": kernel}}
    (_, found), slopes = with_gradients(whole.clone(heads_out=(1, 3)), direction)(parameters, x)
    (_, expected), zeroed_slopes = with_gradients(whole, direction)(zeroed, x)
    chex.assert_trees_all_close(found, expected, rtol=0, atol=1e-12)
    chex.assert_trees_all_close(slopes[1], zeroed_slopes[1], rtol=0, atol=1e-12)
    for name in ("query", "key", "value", "out"):
        taken = slopes[0][name]["kernel"]
        taken = taken if name == "out" else np.moveaxis(taken, 1, 0)
        assert (taken[[1, 3]] == 0).all()
        assert taken[[0, 2]].any(axis=(1, 2)).all()
