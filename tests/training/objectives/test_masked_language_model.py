"""Masking: how many words, which, into what; the loss by hand; one device equals eight."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import END, PAD, mask_symbol
from attnjax.errors import UserError
from attnjax.models.base import logits
from attnjax.models.bert import BertEncoder, bert_layer
from attnjax.models.bert_heads import BertPretraining
from attnjax.models.transformer import Transformer
from attnjax.training.objectives.masked_language_model import MaskedLanguageModel, mask_words

V = 30
MASK = mask_symbol(V)
RANDOM = np.random.default_rng(0)
masked_words = jax.jit(mask_words, static_argnums=(2, 3))


def rows(count, length, shortest=1):
    """Return texts of different lengths, each followed by END and PAD."""
    words = RANDOM.integers(4, V, (count, length))
    ends = RANDOM.integers(shortest, length, (count, 1))
    place = np.arange(length)[None]
    return np.where(place < ends, words, np.where(place == ends, END, PAD)).astype(np.int32)


@pytest.mark.long
@given(st.integers(2, 40), st.floats(0.01, 1.0), st.integers(0, 2**31))
def test_the_share_of_words_is_chosen_and_nothing_else_changes(length, rate, seed):
    source = rows(5, length)
    masked = mask_words(jax.random.key(seed), jnp.asarray(source), V, rate)
    hidden, places, words = map(np.asarray, masked)
    for row in range(5):
        count = ((source[row] != PAD) & (source[row] != END)).sum()
        chosen = places[row][words[row] != PAD]
        assert len(set(chosen)) == len(chosen) == max(1, np.round(np.float32(rate) * count))
        np.testing.assert_array_equal(words[row][words[row] != PAD], source[row, chosen])
        assert ((source[row, chosen] != END) & (source[row, chosen] != PAD)).all()
        rest = np.delete(np.arange(length), chosen)
        np.testing.assert_array_equal(hidden[row, rest], source[row, rest])
        shown = hidden[row, chosen]
        assert ((shown >= 4) & (shown <= MASK)).all()


def test_of_few_words_one_is_chosen():
    """0.15 of one to three words would be rounded to none."""
    source = np.array([[7, END, PAD, PAD], [7, 8, END, PAD], [7, 8, 9, END], [END, PAD, PAD, PAD]])
    chosen = np.asarray(masked_words(jax.random.key(0), source, V, 0.15).words) != PAD
    np.testing.assert_array_equal(chosen.sum(1), [1, 1, 1, 0])


def test_of_the_chosen_words_80_percent_are_masked_and_10_are_random():
    source = rows(400, 101, shortest=100)
    hidden, places, words = map(np.asarray, masked_words(jax.random.key(1), source, V, 0.5))
    shown = np.take_along_axis(hidden, places, 1)[words != PAD]
    before = words[words != PAD]
    count = len(before)
    assert count == 400 * 50
    masked, kept = (shown == MASK).sum() / count, (shown == before).sum() / count
    # within four standard deviations; one random word in V - 4 is the word itself
    assert abs(masked - 0.8) < 4 * np.sqrt(0.8 * 0.2 / count)
    expected = 0.1 + 0.1 / (V - 4)
    assert abs(kept - expected) < 4 * np.sqrt(expected * (1 - expected) / count)
    random = shown[(shown != MASK) & (shown != before)]
    share = np.bincount(random, minlength=V)[4:] / len(random)
    assert abs(share - 1 / (V - 4)).max() < 5 * np.sqrt(1 / (V - 4) / len(random))
    places = np.bincount(places[words != PAD], minlength=100)[:100] / 400
    assert abs(places - 0.5).max() < 5 * np.sqrt(0.25 / 400)


@pytest.mark.long
def test_draws_depend_on_example_and_place_and_not_on_the_shape():
    source, key = rows(8, 12), jax.random.key(2)
    whole = np.asarray(masked_words(key, source, V, 0.3).source)
    wider = np.asarray(masked_words(key, np.pad(source, ((0, 4), (0, 5))), V, 0.3).source)
    np.testing.assert_array_equal(wider[:8, :12], whole)
    split = jax.jit(jax.vmap(lambda rows: mask_words(key, rows, V, 0.3).source, axis_name="data"))
    found = np.asarray(split(source.reshape(4, 2, 12)))
    np.testing.assert_array_equal(found.reshape(8, 12), whole)
    assert (np.asarray(masked_words(jax.random.key(3), source, V, 0.3).source) != whole).any()
    same = masked_words(key, np.tile(source[:1], (8, 1)), V, 0.3).source
    assert len(np.unique(same, axis=0)) > 1


def model(labels=6):
    layer = bert_layer(heads=2, width=6, dropout=0.1)
    bert = BertEncoder(width=4, num_layers=1, layer=layer)
    return BertPretraining(bert=bert, dropout=0.1).with_vocabularies(V, labels)


def batch(labels=True):
    source = rows(8, 9)
    source[7] = PAD
    target = np.array([[4], [5]] * 4) if labels else np.zeros((8, 0))
    target[7:] = PAD
    return Batch(source, target.astype(np.int32))


def parameters(bert, data):
    shapes = jax.eval_shape(
        lambda: bert.init(jax.random.key(0), *data, deterministic=True)["params"]
    )
    draw = np.random.default_rng(3).normal
    return jax.tree.map(
        lambda leaf: jnp.asarray(draw(0, 0.5, leaf.shape).astype(leaf.dtype)), shapes
    )


@pytest.mark.parametrize("weight", [pytest.param(0.0, marks=pytest.mark.long), 3.0])
def test_the_loss_is_that_of_the_hidden_words_and_the_labels(weight):
    bert, data = model(), batch()
    params = parameters(bert, data)
    objective = MaskedLanguageModel(rate=0.4, next_sentence=weight)
    totals = jax.jit(lambda params, data: objective(bert, params, (), data, key=None))
    found = jax.device_get(totals(params, data))
    masked = jax.device_get(masked_words(jax.random.key(0), data.source, V, 0.4))
    call = partial(bert.apply, {"params": params}, masked.source, deterministic=True)
    every = jax.jit(lambda given: jax.nn.log_softmax(call(given)))(np.zeros((8, 1), int))
    at = np.take_along_axis(np.asarray(every), np.asarray(masked.positions)[..., None], 1)
    chosen = np.asarray(masked.words) != PAD
    gold = np.take_along_axis(at, np.asarray(masked.words)[..., None], -1)[..., 0]
    nll, right = -gold[chosen].sum(), (at.argmax(-1) == masked.words)[chosen].sum()
    np.testing.assert_allclose(found["nll"], (nll, chosen.sum()), rtol=1e-5)
    np.testing.assert_allclose(found["accuracy"], (right, chosen.sum()), rtol=1e-6)
    label = jax.jit(lambda given: jax.nn.log_softmax(logits(*call(given, method="features"))))(
        np.ones((8, 1), int)
    )
    label_nll = -np.take_along_axis(np.asarray(label), np.asarray(data.target)[..., None], -1)
    expected = nll + weight * label_nll[:7].sum()
    np.testing.assert_allclose(found["loss"], (expected, chosen.sum()), rtol=1e-5)
    assert ("label_nll" in found) == bool(weight)
    if weight:
        np.testing.assert_allclose(found["label_nll"], (label_nll[:7].sum(), 7), rtol=1e-5)


def test_one_device_is_eight():
    bert, data = model(labels=None), batch(labels=False)
    params, objective = parameters(bert, data), MaskedLanguageModel()
    call = partial(objective, bert, params, (), key=jax.random.key(5))
    whole = jax.device_get(jax.jit(call)(data))
    parts = jax.tree.map(lambda x: x.reshape(8, 1, *x.shape[1:]), data)
    eight = jax.pmap(lambda part: jax.lax.psum(call(part), "data"), axis_name="data")(parts)
    for name, pair in whole.items():
        for one, other in zip(pair, eight[name], strict=True):
            np.testing.assert_allclose(other, np.broadcast_to(one, 8), rtol=1e-5)


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(UserError, match="predicts words of its source, .* got Transformer"):
        MaskedLanguageModel().check(Transformer())
    with pytest.raises(UserError, match=r"objective.next_sentence=2.0 wants a task with labels"):
        MaskedLanguageModel(next_sentence=2.0).check(model(labels=None))
    MaskedLanguageModel(next_sentence=2.0).check(model())
