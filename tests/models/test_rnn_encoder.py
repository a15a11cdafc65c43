"""Units over texts: against the oracle, padding from both ends, layers, dropout, what is sown."""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from attnjax.models.rnn_cells import GRU, LSTM, Cell, Elman, GRUResetBefore
from attnjax.models.rnn_encoder import Encoder, RNNLayer
from tests import jitted
from tests.models import recurrence_oracle

B, S, D, W = 3, 5, 3, 4
# Ragged, and the last text is empty.
PRESENT = np.arange(S) < np.array([[5], [3], [0]])
UNITS = (LSTM(), GRUResetBefore(), GRU(), Elman())


def encoder(cell: Cell, **changes: Any) -> Encoder:
    return Encoder(**{"cell": cell, "width": W, "dropout": 0.0, "direction": "both", **changes})


def begin(module, key, x, *arguments, **options):
    return module.init(key, x, *arguments, **options, mutable=["params"])["params"]


def drawn(module: Encoder, dtype=np.float64):
    """Parameters without a zero, and texts."""
    draw = np.random.default_rng(0).normal
    x = draw(size=(B, S, D)).astype(dtype)
    shapes = jax.eval_shape(
        functools.partial(begin, module, deterministic=True), jax.random.key(0), x, PRESENT
    )
    return jax.tree.map(lambda leaf: draw(0, 0.7, leaf.shape).astype(dtype), shapes), x


def apply(module: Encoder, parameters, x, present):
    return jitted.apply(module, {"params": parameters}, x, present, deterministic=True)


def expected(module: Encoder, parameters, x, present):
    """What the oracle reads of the words that are there, put where they stand; 0 elsewhere."""
    states, final = [], []
    for row, here in zip(x, present, strict=True):
        found, last = recurrence_oracle.encoder(type(module.cell).__name__, parameters, row[here])
        whole = np.zeros((len(row), found.shape[-1]), found.dtype)
        whole[here] = found
        states.append(whole)
        final.append(last)
    return np.stack(states), jax.tree.map(lambda *rows: np.stack(rows), *final)


@pytest.mark.parametrize("cell", UNITS, ids=lambda cell: type(cell).__name__)
def test_equals_the_oracle_with_gradients(cell, float64):
    module = encoder(cell, layers=2)
    parameters, x = drawn(module)
    random = np.random.default_rng(1)
    direction = random.normal(size=(B, S, 2 * W))

    def total(states, final):
        return (states * direction).sum() + sum(leaf.sum() for leaf in jax.tree.leaves(final))

    @jax.jit
    def read(parameters, x):
        def loss(parameters, x):
            found = apply(module, parameters, x, PRESENT)
            return total(*found), found

        return jax.grad(loss, (0, 1), has_aux=True)(parameters, x)

    slopes, found = read(parameters, x)
    chex.assert_trees_all_close(
        tuple(found), expected(module, parameters, x, PRESENT), rtol=0, atol=1e-13
    )
    # One random direction through everything at once reads all of the gradient.
    way = jax.tree.map(lambda p: random.normal(size=p.shape), (parameters, x))
    moved = jax.tree.map(lambda p, w: p + 1e-30j * w, (parameters, x), way)
    slope = total(*expected(module, *moved, PRESENT)).imag / 1e-30
    along = sum(jax.tree.leaves(jax.tree.map(lambda g, w: (g * w).sum(), slopes, way)))
    assert along == pytest.approx(slope, rel=1e-11)
    # What is not there has no state and moves nothing; what is there does.
    assert not np.asarray(found.states)[~PRESENT].any()
    assert not np.asarray(slopes[1])[~PRESENT].any()
    assert (np.abs(np.asarray(slopes[1])[PRESENT]).max(-1) > 1e-6).all()


MODULE = encoder(LSTM())
PARAMETERS, TEXTS = drawn(MODULE, np.float32)
READ = functools.partial(apply, MODULE)


@given(st.lists(st.booleans(), min_size=B * S, max_size=B * S))
def test_padding_anywhere_is_as_if_it_were_not_there(present):
    present = np.array(present).reshape(B, S)
    found = READ(PARAMETERS, TEXTS, present)
    chex.assert_trees_all_close(
        tuple(found), expected(MODULE, PARAMETERS, TEXTS, present), rtol=0, atol=1e-5
    )
    # Whatever stands there.
    other = np.where(present[..., None], TEXTS, np.float32(1e6))
    chex.assert_trees_all_equal(READ(PARAMETERS, other, present), found)


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
def test_more_padding_changes_nothing_and_a_row_alone_is_the_row(direction):
    module = encoder(GRUResetBefore(), layers=2, direction=direction)
    parameters, x = drawn(module, np.float32)
    read = functools.partial(apply, module)
    found = read(parameters, x, PRESENT)
    wider = np.pad(x, ((0, 0), (0, 2), (0, 0)), constant_values=9.0)
    padded = read(parameters, wider, np.pad(PRESENT, ((0, 0), (0, 2))))
    chex.assert_trees_all_close(padded.final, found.final, atol=1e-6)
    np.testing.assert_allclose(padded.states[:, :S], found.states, atol=1e-6)
    assert not np.asarray(padded.states[:, S:]).any()
    # The second row, of three words, without its padding.
    alone = read(parameters, x[1:2, :3], PRESENT[1:2, :3])
    np.testing.assert_allclose(alone.states[0], found.states[1, :3], atol=1e-6)
    chex.assert_trees_all_close(
        jax.tree.map(lambda leaf: leaf[0], alone.final),
        jax.tree.map(lambda leaf: leaf[1], found.final),
        atol=1e-6,
    )


def test_backward_is_forward_on_the_flipped_text():
    backward = encoder(LSTM(), layers=2, direction="backward")
    parameters, x = drawn(backward, np.float32)
    renamed = {name.replace("backward", "forward"): part for name, part in parameters.items()}
    forward = backward.clone(direction="forward")
    one = apply(backward, parameters, x, PRESENT)
    other = apply(forward, renamed, x[:, ::-1], PRESENT[:, ::-1])
    np.testing.assert_allclose(one.states, other.states[:, ::-1], atol=1e-6)
    chex.assert_trees_all_close(one.final, other.final, atol=1e-6)
    # The last carry is the state at the text's first word.
    np.testing.assert_array_equal(one.final[-1][0][-1], one.states[:, 0])


def test_both_directions_are_each_direction_side_by_side():
    both = encoder(GRU())
    parameters, x = drawn(both, np.float32)
    found = apply(both, parameters, x, PRESENT)
    for place, direction in enumerate(("forward", "backward")):
        layer = RNNLayer(cell=GRU(), width=W, direction=direction)
        own = {"params": parameters[f"{direction}_0"]}
        states, final = jitted.apply(layer, own, x, PRESENT)
        half = found.states[..., place * W : (place + 1) * W]
        np.testing.assert_allclose(half, states, atol=1e-6)
        chex.assert_trees_all_close(found.final[0][place], final, atol=1e-6)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("cell", UNITS, ids=lambda cell: type(cell).__name__)
def test_every_layer_of_every_direction_has_its_own(cell, direction, layers):
    module = encoder(cell, layers=layers, direction=direction)
    shapes = jax.eval_shape(
        functools.partial(begin, module, deterministic=True),
        jax.random.key(0),
        jnp.ones((1, 2, D)),
        jnp.ones((1, 2), bool),
    )
    sides = ("forward", "backward") if direction == "both" else (direction,)
    assert set(shapes) == {f"{side}_{layer}" for side in sides for layer in range(layers)}
    expected = 0
    for layer in range(layers):
        seen = len(sides) * W if layer else D
        own = cell.gates * W * (seen + W + 1) + (W if isinstance(cell, GRU) else 0)
        expected += len(sides) * own
    assert sum(leaf.size for leaf in jax.tree.leaves(shapes)) == expected


class Passing(Cell):
    """A unit whose state is its word: what an encoder of it returns is what dropout left."""

    gates = 1

    def project(self, x):
        return x

    def _after(self, carry, projected):
        return (projected,)


def test_dropout_falls_between_layers_only_with_a_key_of_its_own():
    x, present = np.ones((8, 40, 16), np.float32), np.ones((8, 40), bool)

    def read(layers: int, dropout: float = 0.5, *, deterministic: bool = False) -> np.ndarray:
        module = encoder(Passing(), width=16, layers=layers, dropout=dropout, direction="forward")
        keys = {"dropout": jax.random.key(0)}
        found = jitted.apply(module, {}, x, present, deterministic=deterministic, rngs=keys)
        return found.states

    for unchanged in (read(1), read(3, deterministic=True), read(3, 0.0)):
        np.testing.assert_array_equal(unchanged, x)
    two, three = read(2), read(3)
    assert set(np.unique(two)) == {0, 2}
    assert set(np.unique(three)) == {0, 4}
    # Were the second draw the first one again, half would be left.
    assert abs((two > 0).mean() - 0.5) < 0.05
    assert abs((three > 0).mean() - 0.25) < 0.05


def test_seeds_side_by_side_are_the_seeds_one_by_one():
    module = encoder(Elman(), layers=2, dropout=0.4)
    keys = jax.random.split(jax.random.key(0), 2)
    start = functools.partial(begin, module, deterministic=True)
    members = jax.jit(jax.vmap(start, (0, None, None)))(keys, TEXTS, PRESENT)

    # Every seed, layer and direction begins with an orthogonal matrix of its own.
    matrices = np.concatenate([part["unit"]["recurrent"] for part in members.values()])
    assert matrices.shape == (8, W, W)
    for number, matrix in enumerate(matrices):
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(W), atol=1e-5)
        assert all(not np.allclose(matrix, other, atol=0.1) for other in matrices[:number])

    def read(params, key):
        return module.apply(
            {"params": params}, TEXTS, PRESENT, deterministic=False, rngs={"dropout": key}
        )

    together = jax.device_get(jax.jit(jax.vmap(read))(members, keys))
    members = jax.device_get(members)
    read = jax.jit(read)
    for seed, key in enumerate(keys):
        member, found = jax.tree.map(lambda leaf, s=seed: leaf[s], (members, together))
        chex.assert_trees_all_close(found, read(member, key), atol=1e-5)


def test_bfloat16_throughout():
    narrow = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.bfloat16), (PARAMETERS, TEXTS))
    found = READ(*narrow, PRESENT)
    assert {leaf.dtype for leaf in jax.tree.leaves(found)} == {jnp.dtype(jnp.bfloat16)}
    exact = READ(PARAMETERS, TEXTS, PRESENT)
    np.testing.assert_allclose(np.asarray(found.states, np.float32), exact.states, atol=0.05)


def test_an_encoder_outside_a_model_needs_a_dropout():
    words, here = jnp.ones((1, 2, D)), jnp.ones((1, 2), bool)
    alone = encoder(LSTM(), dropout=None)
    with pytest.raises(ValueError, match=r"Encoder.dropout is None, .* outside a model, give"):
        jitted.init(alone, jax.random.key(0), words, here, deterministic=True)
