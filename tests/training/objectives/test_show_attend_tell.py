"""REINFORCE against the exact gradient of its bound, and the doubly stochastic penalty."""

import itertools
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.attention.align.base import Softmax
from attnjax.attention.align.one_hot import Hard
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.score.base import Additive
from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import END, PAD
from attnjax.errors import UserError
from attnjax.lab.checkpoints.checkpoint import Checkpoints
from attnjax.lab.checkpoints.snapshot import RunProgress, Snapshot
from attnjax.models.captioner import Captioner, Convolutions
from attnjax.models.feed_forward import FeedForward
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.training.objectives.base import CrossEntropy, shifted
from attnjax.training.objectives.show_attend_tell import (
    DoublyStochastic,
    Reinforce,
    _over_words,
    coverage,
)
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import State, on_one_device, train_step
from tests.attention import oracle
from tests.training.toy import Toy

KEYS, WORDS, WIDTH = 3, 5, 2
# One caption of two words, and filler.
TARGET = np.array([[4, END, PAD], [PAD, PAD, PAD]], np.int32)


class Told(nn.Module):
    """A model that looks at the keys that the source names, as if it had drawn them."""

    @nn.compact
    def features(self, source, given, *, deterministic):
        normal = nn.initializers.normal(1.0)
        logits = self.param("logits", normal, (source.shape[1], KEYS))
        value = self.param("value", normal, (KEYS, WIDTH))
        table = self.param("table", normal, (WORDS, WIDTH))
        logs = jnp.broadcast_to(jax.nn.log_softmax(logits), (*source.shape, KEYS))
        self.sow("objective", "log_probability", jnp.take_along_axis(logs, source[..., None], -1))
        self.sow("objective", "entropy", -(jnp.exp(logs) * logs).sum(-1, keepdims=True))
        return value[source], table


def bound(params: Any) -> Any:
    """Return the sum over samples of p(s) log p(y | s), of the caption's two words, in NumPy."""
    p = oracle.softmax(params["logits"], np.ones((3, KEYS), bool))
    scores = params["value"] @ params["table"].T
    logs = np.log(oracle.softmax(scores, np.ones_like(scores, bool)))
    return sum(
        p[0, i] * p[1, j] * (logs[i, 4] + logs[j, END])
        for i, j in itertools.product(range(KEYS), repeat=2)
    )


def entropy(params: Any) -> Any:
    p = oracle.softmax(params["logits"], np.ones((3, KEYS), bool))[:2]
    return -(p * np.log(p)).sum()


def test_over_all_samples_the_gradient_is_the_bounds_own(float64):
    objective = Reinforce(reward=1.0, entropy=0.3)
    draw = np.random.default_rng(0).normal
    shapes = {"logits": (3, KEYS), "value": (KEYS, WIDTH), "table": (WORDS, WIDTH)}
    params = {name: draw(size=shape) for name, shape in shapes.items()}

    @jax.jit
    def read(params, source, baseline):
        def loss(params):
            batch = Batch(source, TARGET)
            key = jax.random.key(0)
            totals = objective(Told(), params, baseline, batch, key=key)
            return totals["loss"][0], totals

        return jax.grad(loss, has_aux=True)(params)

    p = oracle.softmax(params["logits"], np.ones((3, KEYS), bool))
    wanted = oracle.gradient(lambda params: -bound(params) - 0.3 * entropy(params), params)
    for baseline in (0.0, -3.7):
        slopes, value = jax.tree.map(np.zeros_like, params), 0.0
        for i, j in itertools.product(range(KEYS), repeat=2):
            # What is drawn at padding is no part of it.
            slope, totals = read(params, jnp.array([[i, j, 2], [0, 1, 2]]), baseline)
            share = p[0, i] * p[1, j]
            slopes = jax.tree.map(lambda total, x, share=share: total + share * x, slopes, slope)
            value += share * totals["loss"][0]
            assert totals["loss"][1] == 2
            assert totals["log_likelihood"][1] == 1
            assert totals["entropy"] == (pytest.approx(entropy(params)), 2)
        for name, slope in slopes.items():
            np.testing.assert_allclose(slope, wanted[name], rtol=0, atol=1e-12)
        assert value == pytest.approx(-bound(params) - 0.3 * entropy(params))
    # Of one sample the baseline moves the slope of what was drawn, by itself times d log p(s).
    source = jnp.array([[1, 0, 2], [0, 1, 2]])
    low, high = (read(params, source, baseline)[0]["logits"] for baseline in (-2.0, 1.0))
    drawn = np.eye(KEYS)[[1, 0]] - p[:2]
    np.testing.assert_allclose((high - low)[:2], 3.0 * drawn, rtol=0, atol=1e-12)
    assert not np.any(high[2])


SIDE, CAPTION = 4, np.array([[4, 5, END], [6, END, PAD], [PAD, PAD, PAD]], np.int32)


def captions() -> Batch:
    """Return two images with captions of unequal length, and filler."""
    images = np.random.default_rng(0).random((3, SIDE, SIDE, 3)).astype(np.float32)
    images[2] = np.nan
    return Batch(images, CAPTION)


def captioner(align) -> Captioner:
    attention = Attention(score=Additive(), align=align)
    model = Captioner(width=4, embedding=3, encoder=Convolutions(((3,),)), attention=attention)
    return model.with_vocabularies(None, 7)


def slopes(objective, model, params, batch):
    """Return the gradient of the loss, and the totals."""

    def loss(params):
        key = jax.random.key(1)
        totals = objective(model, params, objective.initial(), batch, key=key)
        return totals["loss"][0], totals

    return jax.grad(loss, has_aux=True)(params)


@pytest.fixture(scope="module")
def params() -> Any:
    batch, model = captions(), captioner(Softmax())
    init = partial(model.init, deterministic=True, mutable=["params"])
    shapes = jax.eval_shape(init, jax.random.key(0), batch.source, batch.target)["params"]
    draw = np.random.default_rng(1).normal
    return jax.tree.map(lambda leaf: jnp.asarray(draw(0, 0.5, leaf.shape), jnp.float32), shapes)


def test_only_the_reward_and_the_entropy_move_what_is_drawn(params):
    @jax.jit
    def read(reward, weight):
        objective = Reinforce(reward=reward, entropy=weight)
        return slopes(objective, captioner(Hard(0.0)), params, captions())

    for reward, weight, moves in ((0.0, 0.0, False), (1.0, 0.0, True), (0.0, 1.0, True)):
        slope, totals = read(reward, weight)
        score = slope["attention"]["score"]
        assert all(bool(np.any(leaf)) == moves for leaf in jax.tree.leaves(score))
        # The words learn in any case, and the reward is no part of the value.
        assert np.any(slope["table"])
        expected = totals["nll"][0] - weight * totals["entropy"][0]
        np.testing.assert_allclose(totals["loss"][0], expected, rtol=1e-6)
        np.testing.assert_allclose(totals["log_likelihood"][0], -totals["nll"][0], rtol=1e-6)
        assert totals["log_likelihood"][1] == 2


def test_where_every_example_is_soft_it_is_the_cross_entropy(params):
    @jax.jit
    def both():
        batch, objective = captions(), Reinforce(reward=1.0, entropy=0.0)
        plain = CrossEntropy(smoothing=0.0)
        return (
            slopes(objective, captioner(Hard(1.0)), params, batch),
            slopes(plain, captioner(Softmax()), params, batch),
        )

    one, other = both()
    for ours, theirs in zip(*map(jax.tree.leaves, (one[0], other[0])), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(one[1]["loss"], other[1]["loss"], rtol=1e-6)


@pytest.mark.long
def test_a_recurrent_translator_learns_where_to_look():
    align = MultiHead(head=Attention(align=Hard(0.0)), heads=2)
    model = Seq2Seq(width=3, encoder=Encoder(width=2), decoder=LuongDecoder(align, width=4))
    model, batch = model.with_vocabularies(7, 7), Batch(CAPTION, CAPTION)

    @jax.jit
    def read(reward):
        init = partial(model.init, deterministic=True, mutable=["params"])
        params = init(jax.random.key(0), batch.source, batch.target)["params"]
        return slopes(Reinforce(reward=reward, entropy=0.0), model, params, batch)

    for reward in (0.0, 1.0):
        slope, totals = read(reward)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))
        # of what is drawn nothing but the reward tells
        query = slope["writer"]["attention"]["query"]["kernel"]
        assert bool(np.any(query)) == bool(reward)
        assert 0 < totals["entropy"][0] < 5 * 2 * np.log(3), "of five words, two heads"


def test_what_heads_draw_is_added_up_and_padding_is_not():
    sown = np.random.default_rng(0).normal(size=(3, 3, 2, 1))
    seen = {"objective": {"attention": {"entropy": (jnp.asarray(sown, jnp.float32),)}}}
    found = _over_words(seen, "entropy", jnp.asarray(CAPTION != PAD))
    expected = [sown[row][CAPTION[row] != PAD].sum() for row in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_baseline_goes_from_update_to_update_and_through_a_checkpoint(tmp_path):
    objective, optimizer = Reinforce(), Adam(schedule=Constant(value=1e-2))
    recipe = Recipe(model=Told(), objective=objective, optimizer=optimizer, training=Training())
    draw = np.random.default_rng(0).normal
    shapes = {"logits": (3, KEYS), "value": (KEYS, WIDTH), "table": (WORDS, WIDTH)}
    params = {name: jnp.asarray(draw(size=shape), "float32") for name, shape in shapes.items()}
    first = objective.initial()
    state = State(jnp.int32(0), params, optimizer.make().init(params), first, jax.random.key(0))
    step = jax.jit(partial(train_step, recipe=recipe, over_devices=on_one_device))
    source, expected = jnp.array([[1, 0, 2], [0, 1, 2]]), 0.0
    for _ in range(3):
        state, metrics = step(state, Batch(source, TARGET))
        expected = 0.9 * expected + 0.1 * float(metrics["log_likelihood"])
        assert float(state.objective) == pytest.approx(expected, rel=1e-5)
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(Snapshot.of(state, RunProgress(epoch_end=True)))
    restored = checkpoints.restore(3, jax.eval_shape(lambda: state))
    assert float(restored.objective) == float(state.objective)
    checkpoints.close()


def test_where_heads_stand_before_words_nothing_is_taken_for_them():
    # as many heads as words: by their number they cannot be told apart
    model = Transformer(
        width=6,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(
            self_attention=MultiHead(heads=3), feed_forward=FeedForward(width=4)
        ),
        decoder_layer=DecoderLayer(
            self_attention=MultiHead(heads=3),
            cross_attention=MultiHead(head=Attention(align=Hard()), heads=3),
            feed_forward=FeedForward(width=4),
        ),
    ).with_vocabularies(7, 7)
    batch = Batch(CAPTION, CAPTION)
    init = partial(model.init, deterministic=True, mutable=["params"])
    params = jax.eval_shape(init, jax.random.key(0), batch.source, batch.target)["params"]
    with pytest.raises(UserError, match=r"word by word .*\[3, 3, '...', 1\]; got \[3, 3, 3\]"):
        jax.eval_shape(lambda params: slopes(Reinforce(), model, params, batch), params)


def test_the_baseline_is_a_mean_that_moves():
    objective, expected = Reinforce(), 0.0
    state = objective.initial()
    for total, count in ((-6.0, 2.0), (-9.0, 3.0), (-1.0, 4.0)):
        state = objective.update_state(
            state, {"log_likelihood": (jnp.array(total), jnp.array(count))}
        )
        expected = 0.9 * expected + 0.1 * total / count
        assert state.dtype == jnp.float32
        assert float(state) == pytest.approx(expected)


def test_the_penalty_is_added_caption_by_caption(params):
    model, batch = captioner(Softmax()), captions()
    # What fills a batch up is no caption.
    without = Batch(*(side[:2] for side in batch))

    @jax.jit
    def read():
        penalized = DoublyStochastic(penalty=0.7)
        weights = model.alignment(params, batch.source, shifted(jnp.asarray(batch.target)))
        return (
            slopes(penalized, model, params, batch),
            slopes(penalized, model, params, without)[1],
            weights,
        )

    (slope, totals), fewer, weights = read()
    wanted = coverage(weights, jnp.asarray(CAPTION != PAD))[:2].sum()
    np.testing.assert_allclose(totals["coverage"], (wanted, 2), rtol=1e-5)
    np.testing.assert_allclose(totals["loss"][0], totals["nll"][0] + 0.7 * wanted, rtol=1e-5)
    assert totals["loss"][1] == 5
    for leaf in jax.tree.leaves(slope):
        assert np.isfinite(leaf).all()
    for name, pair in fewer.items():
        np.testing.assert_allclose(totals[name], pair, rtol=1e-5)


def test_models_that_do_not_show_what_is_wanted_are_refused(params):
    with pytest.raises(UserError, match="a recurrent one with the align Hard.*; got nothing"):
        jax.eval_shape(lambda: slopes(Reinforce(), captioner(Softmax()), params, captions()))
    sides = np.array([[4, 5, END]], np.int32)
    batch = Batch(sides, sides)
    words = {"table": jnp.zeros((11, 4)), "Dense_0": {"kernel": jnp.eye(4), "bias": jnp.zeros(4)}}
    with pytest.raises(UserError, match="exactly one attention .* this Toy has 0"):
        jax.eval_shape(lambda: slopes(DoublyStochastic(), Toy(), words, batch))
