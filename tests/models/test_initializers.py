"""Initializers: the values of every parameter of recurrent models, as their papers draw them."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import traverse_util

from attnjax.errors import UserError
from attnjax.models.rnn_cells import GRUResetBefore
from attnjax.models.rnn_decoders import BahdanauDecoder, LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.nn.initializers import (
    InitByName,
    Initializer,
    InitRule,
    NormalInit,
    OrthogonalInit,
    UniformInit,
    ZerosInit,
    draw_parameters,
)

WIDTH, GATES = 48, 3
LUONG = Seq2Seq(
    source_vocabulary=30,
    vocabulary=40,
    width=WIDTH,
    encoder=Encoder(width=WIDTH, direction="forward", layers=2),
    decoder=LuongDecoder(width=WIDTH, layers=2),
)
BAHDANAU = LUONG.clone(
    encoder=Encoder(cell=GRUResetBefore(), width=WIDTH),
    decoder=BahdanauDecoder(width=WIDTH, maxout=24),
)
APPENDIX_B_1 = InitByName(
    rules=(
        InitRule(parameters="*.recurrent", initializer=OrthogonalInit()),
        InitRule(parameters="*.attention.score.v", initializer=ZerosInit()),
        InitRule(parameters="*.attention.score.*", initializer=NormalInit(std=0.001)),
        InitRule(parameters="*bias", initializer=ZerosInit()),
        InitRule(parameters="*", initializer=NormalInit(std=0.01)),
    )
)


@functools.partial(jax.jit, static_argnums=(0, 1))
def start(model: Seq2Seq, initializer: Initializer | None, key: Any) -> Any:
    ids = jnp.ones((1, 2), jnp.int32)
    model = model.clone(initializer=initializer)
    return model.init(key, ids, ids, deterministic=True, mutable=["params"])["params"]


def drawn(model: Seq2Seq, initializer: Initializer | None, seed: int = 0) -> dict[str, np.ndarray]:
    """Every parameter by its name."""
    params = start(model, initializer, jax.random.key(seed))
    return {name: np.asarray(x) for name, x in traverse_util.flatten_dict(params, sep=".").items()}


@pytest.mark.parametrize("scale", [pytest.param(0.08, marks=pytest.mark.long), 0.1])
def test_uniform_is_every_parameters_biases_too(scale):
    """Sutskever et al. 2014, section 3.4; Luong et al. 2015, section 4.1."""
    found, other = drawn(LUONG, UniformInit(scale=scale)), drawn(LUONG, UniformInit(scale=scale), 1)
    shapes = jax.eval_shape(functools.partial(start, LUONG, None), jax.random.key(0))
    assert {name: x.shape for name, x in found.items()} == {
        name: x.shape for name, x in traverse_util.flatten_dict(shapes, sep=".").items()
    }
    for name, x in found.items():
        assert 0.9 * scale < np.abs(x).max() <= scale, name
        assert x.std() == pytest.approx(scale / 3**0.5, rel=0.2), name
        assert not np.any(x == other[name]), name
    # no two parameters are drawn alike
    firsts = [x.ravel()[0] for x in found.values()]
    assert len(set(firsts)) == len(firsts)


def test_each_kind_of_bahdanaus_parameters_is_as_in_his_appendix():
    found, kinds = drawn(BAHDANAU, APPENDIX_B_1), set()
    for name, x in found.items():
        if name.endswith("recurrent"):
            kinds.add("recurrent")
            for gate in np.split(x, GATES, axis=1):
                np.testing.assert_allclose(gate @ gate.T, np.eye(WIDTH), atol=1e-5)
            assert not np.allclose(x[:, :WIDTH], x[:, WIDTH : 2 * WIDTH])
        elif name.endswith(("score.v", "bias")):
            kinds.add("zero")
            assert not x.any(), name
        else:
            kinds.add("normal")
            std = 0.001 if ".score." in name else 0.01
            assert x.std() == pytest.approx(std, rel=0.1), name
            assert abs(x.mean()) < 0.2 * std, name
    assert kinds == {"recurrent", "zero", "normal"}


def test_without_a_rule_a_part_draws_its_own():
    own = drawn(BAHDANAU, None)
    rule = InitRule(parameters="*.score.v", initializer=ZerosInit())
    found = drawn(BAHDANAU, InitByName(rules=(rule,)))
    for name, x in found.items():
        if name.endswith("score.v"):
            assert own[name].any()
            assert not x.any()
        else:
            np.testing.assert_array_equal(x, own[name])


@pytest.mark.long
def test_seeds_side_by_side_are_the_seeds_one_by_one():
    keys = jax.random.split(jax.random.key(3), 2)
    members = jax.jit(jax.vmap(functools.partial(start, BAHDANAU, APPENDIX_B_1)))(keys)
    one = jax.jit(functools.partial(start, BAHDANAU, APPENDIX_B_1))(keys[1])
    for found, wanted in zip(jax.tree.leaves(members), jax.tree.leaves(one), strict=True):
        np.testing.assert_allclose(found[1], wanted, atol=1e-5)


def test_a_rule_for_nothing_and_a_matrix_of_no_gates_are_refused():
    for pattern, initializer, message in (
        (
            "*.recurent",
            ZerosInit(),
            r"no parameter matches '\*\.recurent'; the model has .*recurrent",
        ),
        ("source", OrthogonalInit(), r"needs a matrix \[W, k W\]; source has shape \[30, 48\]"),
    ):
        rule = InitRule(parameters=pattern, initializer=initializer)
        with pytest.raises(UserError, match=message):
            drawn(LUONG, InitByName(rules=(rule,)))


def test_constants_and_running_statistics_are_not_drawn_anew():
    names = ("kernel", "head.constant_projection", "norm.running_variance", "constant_head.kernel")
    params = traverse_util.unflatten_dict({name: jnp.full(9, 7.0) for name in names}, sep=".")
    drawn = draw_parameters(UniformInit(scale=0.1), jax.random.key(0), params)
    for name, x in traverse_util.flatten_dict(drawn, sep=".").items():
        stays = name in names[1:3]
        assert (x == 7).all() if stays else (jnp.abs(x) <= 0.1).all(), name
