"""Recurrent units: against plain loops and Flax, their gradients, and where they begin."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn
from jax.test_util import check_grads

from attnjax.models.rnn_cells import GRU, LSTM, Elman, GRUResetBefore
from tests import jitted
from tests.models import recurrence_oracle

B, S, D, W = 2, 4, 3, 5
UNITS = [LSTM(width=W), GRUResetBefore(width=W), GRU(width=W), Elman(width=W)]
each_unit = pytest.mark.parametrize("cell", UNITS, ids=lambda cell: type(cell).__name__)


@functools.partial(jax.jit, static_argnames="cell")
def run(cell, parameters, x):
    """Step by step through x [B, S, D]: states [B, S, W], the last carry."""
    variables = {"params": parameters}
    projected = cell.apply(variables, x, method="project")
    carry, states = cell.initial(len(x), x.dtype), []
    for place in range(x.shape[1]):
        carry, state = cell.apply(variables, carry, projected[:, place])
        states.append(state)
    return jnp.stack(states, 1), carry


def first(cell, seed: int = 0, width: int = D):
    """The parameters it begins with."""

    key, x = jax.random.key(seed), np.ones((1, width), np.float32)
    return jitted.init(cell, key, x, method=project_and_step)["params"]


def project_and_step(cell, x):
    return cell(cell.initial(1, x.dtype), cell.project(x))


def drawn(cell, dtype=np.float64):
    """Parameters without a zero, and texts."""
    draw = np.random.default_rng(0).normal
    shapes = jax.eval_shape(functools.partial(first, cell))
    return jax.tree.map(lambda leaf: draw(0, 0.7, leaf.shape).astype(dtype), shapes), draw(
        size=(B, S, D)
    ).astype(dtype)


@each_unit
def test_equals_a_plain_loop(cell, float64):
    parameters, x = drawn(cell)
    states, carry = jax.device_get(run(cell, parameters, x))
    for row in range(B):
        expected, last = recurrence_oracle.read(type(cell).__name__, parameters, x[row])
        np.testing.assert_allclose(states[row], expected, rtol=0, atol=1e-13)
        chex.assert_trees_all_close(jax.tree.map(lambda c, r=row: c[r], carry), last, atol=1e-13)


@each_unit
def test_gradients_equal_differences(cell, float64):
    parameters, x = drawn(cell)

    @jax.jit
    def read(parameters, x):
        states, carry = run(cell, parameters, x)
        return states.sum(1), carry

    check_grads(read, (parameters, x), order=1, modes=["rev"], rtol=1e-6)


def test_lstm_equals_flax(float64):
    cell = LSTM(width=W)
    parameters, x = drawn(cell)
    theirs = {}
    for number, gate in enumerate("ifgo"):
        columns = slice(number * W, (number + 1) * W)
        theirs[f"i{gate}"] = {"kernel": parameters["input"]["kernel"][:, columns]}
        theirs[f"h{gate}"] = {
            "kernel": parameters["recurrent"][:, columns],
            "bias": parameters["bias"][columns],
        }
    states, _ = run(cell, parameters, x)
    for flax in (nn.LSTMCell, nn.OptimizedLSTMCell):
        expected = jitted.apply(
            nn.RNN(flax(W, param_dtype=x.dtype)), {"params": {"cell": theirs}}, x
        )
        np.testing.assert_allclose(states, expected, rtol=0, atol=1e-13)


def test_gru_equals_flax(float64):
    cell = GRU(width=W)
    parameters, x = drawn(cell)
    theirs = {}
    for number, gate in enumerate("zrn"):
        columns = slice(number * W, (number + 1) * W)
        theirs[f"i{gate}"] = {
            "kernel": parameters["input"]["kernel"][:, columns],
            "bias": parameters["bias"][columns],
        }
        theirs[f"h{gate}"] = {"kernel": parameters["recurrent"][:, columns]}
    theirs["hn"]["bias"] = parameters["candidate_bias"]
    states, _ = run(cell, parameters, x)
    expected = jitted.apply(
        nn.RNN(nn.GRUCell(W, param_dtype=x.dtype)), {"params": {"cell": theirs}}, x
    )
    np.testing.assert_allclose(states, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("reset_bias, alike", [(0.0, False), (50.0, True)])
def test_the_two_gated_units_differ_in_what_they_reset(reset_bias, alike, float64):
    parameters, x = drawn(GRUResetBefore(width=W))
    parameters["bias"][W : 2 * W] = reset_bias  # at 50 nothing is reset
    # Cho's z is the share of the candidate, cuDNN's that of the old state: sigmoid(-x) is
    # 1 - sigmoid(x).
    other = jax.tree.map(np.copy, parameters)
    for block in (other["input"]["kernel"], other["recurrent"], other["bias"]):
        block[..., :W] *= -1
    other["candidate_bias"] = np.zeros(W)
    before, _ = jax.device_get(run(GRUResetBefore(width=W), parameters, x))
    after, _ = jax.device_get(run(GRU(width=W), other, x))
    # The first state is 0, and so is what is reset of it.
    np.testing.assert_allclose(before[:, 0], after[:, 0], atol=1e-12)
    assert np.allclose(before, after, rtol=0, atol=1e-12) == alike
    assert alike or np.abs(before - after).max() > 1e-2


@each_unit
def test_each_gate_begins_as_a_matrix_of_its_own(cell):
    parameters = first(cell, width=8)
    gates = cell.gates
    blocks = np.split(np.asarray(parameters["recurrent"]), gates, axis=1)
    for block in blocks:
        np.testing.assert_allclose(block.T @ block, np.eye(W), atol=1e-5)
    kernels = np.split(np.asarray(parameters["input"]["kernel"]), gates, axis=1)
    bound = np.sqrt(6 / (8 + W))  # Glorot & Bengio 2010, eq. 16, of one gate
    for kernel in kernels:
        assert 0.8 * bound < np.abs(kernel).max() < bound
    for group in (blocks, kernels):
        for number in range(1, gates):
            assert not np.allclose(group[0], group[number], atol=0.1)
    if not isinstance(cell, LSTM):
        assert (np.asarray(parameters["bias"]) == 0).all()
    assert not np.allclose(parameters["recurrent"], first(cell, 1, width=8)["recurrent"], atol=0.1)


@pytest.mark.parametrize("forget", [1.0, -0.5])
def test_the_forget_gate_begins_where_it_is_told(forget):
    bias = np.asarray(first(LSTM(width=W, forget=forget))["bias"]).reshape(4, W)
    np.testing.assert_array_equal(bias, np.outer([0, forget, 0, 0], np.ones(W)))
    assert LSTM().forget == 1.0


@each_unit
def test_a_step_makes_no_more_products_than_it_must(cell):
    parameters, x = drawn(cell, np.float32)
    projected = jnp.ones((B, cell.gates * W))

    def step(parameters, carry, projected):
        return cell.apply({"params": parameters}, carry, projected)

    traced = jax.make_jaxpr(step)(parameters, cell.initial(B, x.dtype), projected)
    products = str(traced).count("dot_general")
    assert products == (2 if isinstance(cell, GRUResetBefore) else 1)


@each_unit
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_everything_has_the_dtype_of_the_input(cell, dtype):
    wide, x = drawn(cell, np.float32)
    narrow = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), wide)
    states, carry = run(cell, narrow, jnp.asarray(x, dtype))
    assert {leaf.dtype.name for leaf in jax.tree.leaves((states, carry))} == {dtype}
    expected, _ = run(cell, wide, x)
    np.testing.assert_allclose(np.asarray(states, np.float32), expected, atol=0.1)


@each_unit
def test_the_hidden_state_of_a_carry_is_what_a_step_returns(cell):
    parameters, x = drawn(cell, np.float32)
    states, carry = run(cell, parameters, x)
    np.testing.assert_array_equal(carry[-1], np.asarray(states)[:, -1])
    begin = cell.initial(7, jnp.float32)
    assert all(leaf.shape == (7, W) and not leaf.any() for leaf in begin)
    assert len(begin) == len(carry) == (2 if isinstance(cell, LSTM) else 1)


def test_a_unit_without_a_width_is_refused():
    with pytest.raises(ValueError, match="width is None"):
        first(LSTM())
