"""BERT: equal to `transformers` on the same parameters; its segments, heads, and limits."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.examples import Encoded, Examples
from attnjax.data.special_tokens import END, PAD
from attnjax.decoding.generate import generate
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.label import Label
from attnjax.errors import UserError
from attnjax.models.base import logits
from attnjax.models.bert import segments_of
from attnjax.models.bert_heads import BertClassifier, BertTagger
from tests import jitted
from tests.models.golden_bert import GOLDEN, MODEL, ORDER, PIECES, parameters, source

THERE = GOLDEN["words"] != 0
"""What is behind a sentence has states that nobody reads."""


def states(model, params, words, **options):
    return jitted.apply(model, {"params": params}, words, deterministic=True, **options)


def test_equals_transformers(float64):
    params, words = parameters(), source()
    places = np.broadcast_to(np.arange(8)[None], (2, 8))

    @jax.jit
    def compute(params):
        encoded = MODEL.apply(
            {"params": params},
            words,
            method=lambda model, words: model.encoder(words, deterministic=True),
        )
        found = states(MODEL, params, words, positions=places, method="predict")
        return encoded, logits(*found.words), logits(*found.label)

    encoded, masked_words, label = jax.device_get(compute(params))
    close = partial(np.testing.assert_allclose, rtol=0, atol=1e-11)
    close(encoded[THERE], GOLDEN["hidden"][-1][THERE])
    expected = GOLDEN["masked_words"][:, 1:][..., ORDER[:-1]]
    close(masked_words[THERE[:, 1:]], expected[THERE[:, 1:]])
    close(label[:, 0, 4:], GOLDEN["next_sentence"])

    @jax.jit
    def weights(params):
        return [one.weights for one in MODEL.attentions(params, words, np.ones((2, 1), int))]

    for ours, theirs in zip(jax.device_get(weights(params)), GOLDEN["weights"], strict=True):
        for row, length in enumerate(THERE.sum(1)):
            close(ours[row, :, :length, :length], theirs[row, :, :length, :length])


def test_a_layer_equals_a_bert_layer(float64):
    layer = MODEL.bert.layer.clone(residual=MODEL.bert.residual, dropout=0.0)
    params, hidden = parameters()["encoder"], GOLDEN["hidden"]
    mask = THERE[:, None, :] & np.ones((1, 9, 1), bool)
    for number in range(2):
        found = jitted.apply(
            layer,
            {"params": params[f"layers_{number}"]},
            hidden[number],
            mask,
            deterministic=True,
        )
        np.testing.assert_allclose(found[THERE], hidden[number + 1][THERE], rtol=0, atol=1e-11)


def test_pooled_is_what_the_classifier_reads(float64):
    model = BertClassifier(bert=MODEL.bert).with_vocabularies(len(ORDER) - 1, 7)
    random = np.random.default_rng(0)
    label = {"kernel": random.normal(size=(7, 8)), "bias": random.normal(size=7)}
    params = {name: parameters()[name] for name in ("encoder", "pooler")} | {"label": label}
    found = states(model, params, source(), decoder_input=np.ones((2, 1), int))
    expected = GOLDEN["pooled"] @ label["kernel"].T + label["bias"]
    np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=1e-11)
    best = np.asarray(generate(model, params, source(), Label(), extra=0).tokens)[:, 0, 0]
    np.testing.assert_array_equal(best, 4 + expected[:, 4:].argmax(-1))
    weights = jitted.call(model, "alignment", params, source(), np.ones((2, 1), int))
    expected = GOLDEN["weights"][-1].mean(1)[:, :1, 1:]
    np.testing.assert_allclose(weights, np.where(THERE[:, None, 1:], expected, 0), atol=1e-11)


def test_the_second_sentence_is_the_second_segment():
    words = np.array([[5, 6, END, 7, END, PAD], [5, END, PAD, PAD, PAD, PAD]])
    np.testing.assert_array_equal(segments_of(words)[:, :5], [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])


def test_shapes_and_initial_parameters_are_those_of_the_layout():
    drawn = jax.eval_shape(
        lambda: MODEL.init(jax.random.key(0), source(), jnp.ones((2, 1), int), deterministic=True)
    )["params"]
    assert jax.tree.map(lambda x: x.shape, drawn) == jax.tree.map(lambda x: x.shape, parameters())


def tagger():
    model = BertTagger(bert=MODEL.bert).with_vocabularies(len(ORDER) - 1, 7)
    random = np.random.default_rng(1)
    tag = {"kernel": random.normal(size=(7, 8)), "bias": random.normal(size=7)}
    # END where the source has it, and nowhere else
    return model, {"encoder": parameters()["encoder"], "tag": tag}


def test_each_word_gets_the_tag_of_its_state(float64):
    model, params = tagger()
    given = np.ones((2, 8), int)
    parallel = states(model, params, source(), decoder_input=given)
    expected = GOLDEN["hidden"][-1][:, 1:] @ params["tag"]["kernel"].T + params["tag"]["bias"]
    np.testing.assert_allclose(parallel[THERE[:, 1:]], expected[THERE[:, 1:]], rtol=0, atol=1e-11)
    memory = states(model, params, source(), method="encode")
    call: Any = partial(jitted.apply, model, {"params": params})
    constants, cache, state = call(*memory, length=8, beams=1, method="start")
    for step in range(10):
        found, *_ = call(constants, cache, state, given[:, :1], np.int32(step), method="step")
        np.testing.assert_allclose(found[:, 0], parallel[:, min(step, 7)], rtol=0, atol=1e-12)


def test_the_search_reads_the_tags_one_by_one():
    model, params = tagger()
    # states of END score END, and only they: the tags end where the source ends
    params["tag"]["bias"][:] = [0, 0, 0, 0, 5, 5, 5]
    found = np.asarray(generate(model, params, source(), Greedy(), extra=0).tokens)[:, 0]
    parallel = states(model, params, source(), decoder_input=np.ones((2, 8), int))
    for row in range(2):
        best = parallel[row, :, 2:].argmax(-1) + 2
        stop = next((n for n, tag in enumerate(best) if tag == END), THERE[row, 1:].sum() - 1)
        np.testing.assert_array_equal(found[row, :stop], best[:stop])


def test_a_tag_is_wanted_for_each_symbol():
    model = BertTagger(bert=MODEL.bert)
    good, bad = Encoded([5, 6, END], [4, 5, END]), Encoded([5, 6, END], [4, END])
    model.check_examples(Examples.of([good]), "of the train split")
    with pytest.raises(UserError, match="sentence 2 of the train split has 3 symbols and 2 tags"):
        model.check_examples(Examples.of([good, bad]), "of the train split")


def test_what_is_no_text_with_labels_is_refused():
    with pytest.raises(UserError, match="BertClassifier wants a vocabulary .* None target"):
        BertClassifier().with_vocabularies(7, None)
    with pytest.raises(UserError, match="BertPretraining wants a vocabulary of source; got None"):
        MODEL.with_vocabularies(None, 6)
    model, params = BertClassifier(bert=MODEL.bert).with_vocabularies(len(ORDER) - 1, 7), {}
    with pytest.raises(UserError, match="one label to a text, .* got 2"):
        states(model, params, source(), decoder_input=np.ones((2, 2), int))
    limit = MODEL.max_length("source")
    assert limit == (8, "model.bert.position.max_length")
    with pytest.raises(UserError, match="at most 8"):
        MODEL.check_lengths([9], "of the test split", "source")


def test_without_labels_there_is_no_head_for_them():
    model = MODEL.clone(vocabulary=None).with_vocabularies(len(PIECES) + 4, None)
    drawn = jax.eval_shape(
        lambda: model.init(jax.random.key(0), source(), jnp.ones((2, 0), int), deterministic=True)
    )["params"]
    assert drawn.keys() == parameters().keys() - {"pooler", "next_sentence"}
