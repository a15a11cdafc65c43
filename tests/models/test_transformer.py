"""The whole Transformer: against the oracle, one word at a time, who sees what, its weights."""

import functools
from typing import Any

import chex
import jax
import numpy as np
import pytest

from attnjax.attention.align.base import Softmax
from attnjax.attention.align.local import LocalMonotonic
from attnjax.attention.pool import RelativeSum
from attnjax.attention.position import Learned, NoPosition, Sinusoidal
from attnjax.attention.score.base import Additive, Dot, General, Location, ScaledDot
from attnjax.attention.score.positional import Alibi, Relative, Rotary
from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import PostNorm, PreNorm
from tests import jitted
from tests.models import oracle
from tests.models.small import GIVEN, HEADS, SOURCE, initial, small
from tests.models.stepwise import stepped_and_parallel


@pytest.mark.parametrize(
    "score, position, residual, tolerance",
    [
        # The package's waves are float32 in any case.
        pytest.param(ScaledDot(), Sinusoidal(), PostNorm(), 1e-5, id="paper"),
        pytest.param(
            *(Additive(width=3), Learned(max_length=5), PreNorm(), 1e-11),
            id="pre-norm",
            marks=pytest.mark.long,
        ),
    ],
)
def test_equals_the_oracle_with_gradients(score, position, residual, tolerance, float64):
    model = small(score, position, residual)
    random = np.random.default_rng(0)
    direction = random.normal(size=(*GIVEN.shape, 12))

    @jax.jit
    def read(parameters):
        def loss(parameters):
            logits = model.apply({"params": parameters}, SOURCE, GIVEN, deterministic=True)
            return (logits * direction).sum(), logits

        return jax.grad(loss, has_aux=True)(parameters)

    parameters = initial(model)
    slopes, logits, parameters = jax.device_get((*read(parameters), parameters))

    def expected(parameters):
        name, pre_norm = type(score).__name__, isinstance(residual, PreNorm)
        return np.array(
            [
                oracle.transformer(parameters, *row, score=name, pre_norm=pre_norm)
                for row in zip(np.asarray(SOURCE), np.asarray(GIVEN), strict=True)
            ]
        )

    np.testing.assert_allclose(logits, expected(parameters), rtol=0, atol=tolerance)
    # One random direction through all parameters at once reads all of the gradient.
    way = jax.tree.map(lambda p: random.normal(size=p.shape), parameters)
    moved = jax.tree.map(lambda p, w: p + 1e-30j * w, parameters, way)
    slope = (expected(moved) * direction).sum().imag / 1e-30
    found = sum(jax.tree.leaves(jax.tree.map(lambda g, w: (g * w).sum(), slopes, way)))
    assert found == pytest.approx(slope, rel=tolerance)


@pytest.mark.parametrize(
    "score, align, position, residual, layers",
    [
        (ScaledDot(), Softmax(), Sinusoidal(), PostNorm(), 1),
        pytest.param(
            Additive(), Softmax(), Learned(max_length=9), PreNorm(), 1, marks=pytest.mark.long
        ),
        pytest.param(General(), Softmax(), NoPosition(), PostNorm(), 1, marks=pytest.mark.long),
        pytest.param(Dot(), Softmax(), Sinusoidal(), PreNorm(), 1, marks=pytest.mark.long),
        pytest.param(
            *(Location(max_length=9), Softmax(), NoPosition(), PostNorm(), 1),
            marks=pytest.mark.long,
        ),
        pytest.param(Rotary(), Softmax(), NoPosition(), PreNorm(), 2, marks=pytest.mark.long),
        pytest.param(Alibi(), Softmax(), NoPosition(), PreNorm(), 1, marks=pytest.mark.long),
        pytest.param(
            Relative(max_distance=2), Softmax(), NoPosition(), PreNorm(), 1, marks=pytest.mark.long
        ),
        # looks at where a query stands
        (Dot(), LocalMonotonic(reach=1), NoPosition(), PostNorm(), 1),
    ],
    ids=lambda part: type(part).__name__,
)
def test_one_word_at_a_time_is_all_at_once(score, align, position, residual, layers, float64):
    model = small(score, position, residual, align=align, layers=layers)
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


def test_without_encoder_layers_the_decoder_attends_to_the_embedded_source(float64):
    """Also one word at a time: `test_relative_keys_and_values_one_word_at_a_time`."""
    model = vary(small(layers=1), {"num_encoder_layers": 0})
    params = initial(model)
    memory, _ = jitted.apply(model, {"params": params}, SOURCE, deterministic=True, method="encode")
    embedded = [oracle.embed(jax.tree.map(np.asarray, params), np.asarray(row)) for row in SOURCE]
    # the package's waves are float32 in any case
    np.testing.assert_allclose(memory, embedded, rtol=0, atol=1e-6)


def test_relative_keys_and_values_one_word_at_a_time(float64):
    model = small(Relative(max_distance=2), NoPosition(), layers=1)
    model = vary(model, {"**.pool": RelativeSum(max_distance=2)})
    model = vary(model, {"num_encoder_layers": 0})
    params = initial(model)
    assert "pool" in params["decoder_layers_0"]["self_attention"]["head"]
    stepped, parallel = stepped_and_parallel(model, params, SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "residual",
    [PostNorm(), pytest.param(PreNorm(), marks=pytest.mark.long)],
    ids=["post-norm", "pre-norm"],
)
def test_no_gradient_comes_from_the_future_or_from_padding(residual):
    # Every word stands once, so a row of the embedding's gradient is one place's gradient.
    source, given = np.array([[4, 5, 6, 0, 0]], np.int32), np.array([[1, 7, 8, 9]], np.int32)
    model = small(residual=residual, layers=1)

    def hidden(parameters):
        states, _ = model.apply(
            {"params": parameters}, source, given, deterministic=True, method="features"
        )
        # Layer norm's outputs sum to a constant: read them in a direction of no symmetry.
        read = states[0] @ np.sin(np.arange(8.0, dtype=np.float32))
        return read, read

    parameters = jax.device_get(initial(model))
    read = jax.jit(jax.jacrev(hidden, has_aux=True))
    slopes, states = read(parameters)
    moves = np.abs(np.asarray(slopes["embedding"])).sum(-1)  # [T, V]
    for t in range(4):
        for other in range(4):
            move = moves[t, given[0, other]]
            assert move > 1e-6 if other <= t else move == 0
    assert (moves[:, source[0, :3]] > 1e-6).all()
    assert (moves[:, 0] == 0).all()
    # Whatever the embedding of PAD holds.
    huge = {**parameters, "embedding": parameters["embedding"].copy()}
    huge["embedding"][0] = 1e6
    np.testing.assert_array_equal(read(huge)[1], states)


def test_more_padding_changes_nothing_and_a_row_of_it_alone_is_harmless():
    model = small(layers=1)
    parameters = initial(model)
    empty = np.array([[1], [0]], np.int32)
    source, given = np.pad(SOURCE * empty, ((0, 0), (0, 2))), GIVEN * empty

    @jax.jit
    def read(parameters):
        def logits(parameters, source, given):
            found = model.apply({"params": parameters}, source, given, deterministic=True)
            return found.sum(), found[0]

        padded, slopes = jax.grad(logits, has_aux=True)(parameters, source, given)[::-1]
        return padded, slopes, logits(parameters, SOURCE[:1], GIVEN[:1])[1]

    padded, slopes, alone = read(parameters)
    chex.assert_tree_all_finite((padded, slopes))
    np.testing.assert_allclose(padded, alone, atol=2e-5)


def test_without_positions_the_encoder_sees_a_bag_of_words():
    order = np.array([2, 0, 3, 1])

    for position, bag in ((NoPosition(), True), (Sinusoidal(), False)):
        model = small(position=position, layers=1)
        variables, how = {"params": initial(model)}, {"deterministic": True, "method": "encode"}
        memory, _ = jitted.apply(model, variables, SOURCE, **how)
        moved, _ = jitted.apply(model, variables, SOURCE[:, order], **how)
        assert np.allclose(moved, memory[:, order], atol=1e-5) == bag


def test_every_attention_shows_one_array_of_weights_and_looking_changes_nothing():
    model = small()

    variables = {"params": initial(model)}
    logits = jitted.apply(model, variables, SOURCE, GIVEN, deterministic=True)
    again, seen = jitted.apply(
        model, variables, SOURCE, GIVEN, deterministic=True, mutable=["attention"]
    )
    np.testing.assert_allclose(again, logits, atol=1e-6)
    S, T = SOURCE.shape[1], GIVEN.shape[1]
    expected = {f"encoder_layers_{i}": {"self_attention": (S, S)} for i in range(2)}
    expected |= {
        f"decoder_layers_{i}": {"self_attention": (T, T), "cross_attention": (T, S)}
        for i in range(2)
    }
    shapes = {
        layer: {name: [w.shape for w in sown["head"]["weights"]] for name, sown in parts.items()}
        for layer, parts in seen["attention"].items()
    }
    assert shapes == {
        layer: {name: [(len(SOURCE), HEADS, *shape)] for name, shape in parts.items()}
        for layer, parts in expected.items()
    }


def test_dropout_does_not_depend_on_the_batch():
    model = small(dropout=0.3, layers=1)
    source = np.tile(SOURCE, (2, 1))
    variables = {"params": initial(model)}

    def encode(source, seed):
        keys = {"dropout": jax.random.key(seed)}
        memory, _ = model.apply(variables, source, deterministic=False, rngs=keys, method="encode")
        return memory

    whole = np.asarray(jax.jit(encode)(source, 0))
    halves = jax.jit(jax.vmap(encode, (0, None), axis_name="data"))(source.reshape(2, 2, -1), 0)
    np.testing.assert_allclose(halves.reshape(whole.shape), whole, atol=1e-5)
    # The same sentence at another place of the batch, and under another key, is another draw.
    assert not np.allclose(whole[2:], whole[:2], atol=1e-2)
    assert not np.allclose(jax.jit(encode)(source, 1), whole, atol=1e-2)


def test_a_model_without_a_vocabulary_is_refused():
    with pytest.raises(ValueError, match="vocabularies must be numbers"):
        jax.eval_shape(
            lambda: Transformer(width=8).init(jax.random.key(0), SOURCE, GIVEN, deterministic=True)
        )


def test_decoding_past_the_learned_positions_is_refused():
    model = small(position=Learned(max_length=6), layers=1)
    params = initial(model)

    def call(method: str, *inputs: Any, **options: Any) -> Any:
        called = functools.partial(model.apply, {"params": params}, method=method, **options)
        return jax.eval_shape(called, *inputs)

    memory, mask = call("encode", SOURCE, deterministic=True)
    started = call("start", memory, mask, length=6, beams=8)
    with pytest.raises(UserError, match="room for 7 words; .* at most 6 .model.position"):
        call("start", memory, mask, length=7, beams=1)
    with pytest.raises(UserError, match="room for 7 words; .* at most 6 .model.position"):
        call("grow_cache", *started[1:], length=7)
