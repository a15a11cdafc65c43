"""One label a text: every row by itself, and equal to a NumPy oracle of the whole forward pass."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.base import Uniform
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.score.base import Additive, Dot, ScaledDot
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.decoding.generate import generate
from attnjax.decoding.label import Label
from attnjax.errors import UserError
from attnjax.lab.trained.predict import chosen_search
from attnjax.models.classifier import Classifier
from attnjax.models.rnn_cells import GRU, LSTM
from attnjax.models.rnn_encoder import Encoder
from attnjax.training.objectives.cross_entropy import cross_entropy
from tests import jitted
from tests.models import recurrence_oracle

WORDS, LABELS, D, W = 11, 4 + 3, 4, 3
SOURCE = np.array(
    [[5, 6, 7, 4, END], [9, END, 0, 0, 0], [5, 4, END, 0, 0], [4, 5, 8, END, 0], [0, 0, 0, 0, 0]]
)
LENGTHS = [5, 2, 3, 4, 0]
GIVEN = np.full((5, 1), START)


def model(attention=Attention(score=Dot()), cell=LSTM(), **encoder):
    return Classifier(
        vocabulary=LABELS,
        source_vocabulary=WORDS,
        width=D,
        encoder=Encoder(cell=cell, width=W, **encoder),
        attention=attention,
        dropout=0.3,
    )


def drawn(classifier, dtype=np.float32):
    """Parameters without a zero, of a size at which the attention is neither flat nor one word."""
    shapes = jax.eval_shape(
        lambda: classifier.init(
            jax.random.key(0), SOURCE, GIVEN, deterministic=True, mutable=["params"]
        )["params"]
    )
    draw = np.random.default_rng(0).normal
    return jax.tree.map(lambda leaf: draw(0, 0.9, leaf.shape).astype(dtype), shapes)


@partial(jax.jit, static_argnums=0)
def _attention_of(classifier, params, source):
    given = jnp.full((len(source), 1), START)
    logits = classifier.apply({"params": params}, source, given, deterministic=True)[:, 0]
    if classifier.attention is None:
        return logits, None
    return logits, classifier.alignment(params, source, given)[:, 0]


def attention_of(classifier, params, source):
    """Logits [B, V] and weights [B, S], if there are any."""
    return jax.device_get(_attention_of(classifier, params, source))


def oracle(parameters, words, cell, *, pooled="dot"):
    """Logits [V] and weights [S] of one text without padding, from the equations."""
    x = parameters["embedding"][words]
    states, final = recurrence_oracle.encoder(cell, parameters["read"], x)
    query = np.concatenate([carry[-1] for carry in final[-1]])
    score = states @ query if pooled == "dot" else np.zeros(len(words))
    weights = np.exp(score - score.max()) / np.exp(score - score.max()).sum()
    context = query if pooled == "last" else weights @ states
    return parameters["label"] @ context, weights


@pytest.mark.parametrize(
    ("pooled", "attention", "cell", "encoder"),
    [
        ("dot", Attention(score=Dot()), LSTM(), {}),
        ("dot", Attention(score=Dot()), GRU(), {"layers": 2}),
        ("dot", Attention(score=Dot()), LSTM(), {"direction": "backward"}),
        ("mean", Attention(score=Dot(), align=Uniform()), LSTM(), {}),
        ("last", None, LSTM(), {}),
    ],
)
def test_equals_the_equations(pooled, attention, cell, encoder, float64):
    classifier = model(attention, cell, **encoder)
    params = drawn(classifier, np.float64)
    logits, found = attention_of(classifier, params, SOURCE)
    for row, length in enumerate(LENGTHS[:4]):
        expected, weights = oracle(params, SOURCE[row, :length], type(cell).__name__, pooled=pooled)
        np.testing.assert_allclose(logits[row], expected, rtol=0, atol=1e-12)
        if found is not None:
            np.testing.assert_allclose(found[row, :length], weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "attention",
    [Attention(score=Dot()), MultiHead(head=Attention(score=Additive(width=2)), heads=2)],
    ids=["dot", "heads"],
)
def test_weights_are_of_the_rows_own_words(attention):
    classifier = model(attention)
    _, weights = attention_of(classifier, drawn(classifier), SOURCE)
    assert weights.shape == SOURCE.shape
    np.testing.assert_allclose(weights.sum(-1), [1, 1, 1, 1, 0], atol=1e-6)
    there = np.asarray(SOURCE) != PAD
    assert (np.asarray(weights)[~there] == 0).all()
    assert (np.asarray(weights)[there] > 0).all()


def test_a_permuted_batch_is_answered_permuted():
    # attention over the batch axis, or states of another row, would tell
    classifier = model(layers=2)
    params = drawn(classifier)
    before = attention_of(classifier, params, SOURCE)
    order = np.asarray([3, 0, 4, 2, 1])
    for was, now in zip(before, attention_of(classifier, params, SOURCE[order]), strict=True):
        np.testing.assert_array_equal(was[order], now)
    assert len(np.unique(np.asarray(before[0])[:, 0])) == 5


def test_neither_padding_nor_other_rows_change_a_row(float64):
    classifier = model()
    params = drawn(classifier, np.float64)
    logits, weights = attention_of(classifier, params, SOURCE)
    wider = np.pad(SOURCE, ((0, 3), (0, 4)))
    for was, now in zip((logits, weights), attention_of(classifier, params, wider), strict=True):
        np.testing.assert_allclose(now[:5, : was.shape[1]], was, rtol=0, atol=1e-13)
        np.testing.assert_array_equal(now[5:], 0)
    row, length = 1, LENGTHS[1]
    alone, own = attention_of(classifier, params, SOURCE[row : row + 1, :length])
    np.testing.assert_allclose(alone[0], logits[row], rtol=0, atol=1e-13)
    np.testing.assert_allclose(own[0], weights[row, :length], rtol=0, atol=1e-13)


def test_padding_has_no_gradient_and_words_have(float64):
    classifier = model()
    target = np.array([[4], [5], [6], [4], [PAD]])

    @jax.jit
    @jax.value_and_grad
    def loss(params):
        hidden, table = classifier.apply(
            {"params": params}, SOURCE, GIVEN, deterministic=True, method="features"
        )
        return cross_entropy(hidden, table, target, smoothing=0.0)["loss"][0]

    params = drawn(classifier, np.float64)
    gradient = jax.device_get(loss(params)[1])
    norms = np.abs(gradient["embedding"]).sum(-1)
    unused = [PAD, START, UNKNOWN, 10]
    assert (norms[unused] == 0).all()
    assert (np.delete(norms, unused) > 0).all()
    way = jax.tree.map(lambda leaf: np.random.default_rng(1).normal(size=leaf.shape), params)
    step = 1e-6
    ahead, behind = (
        float(loss(jax.tree.map(lambda p, w, sign=sign: p + sign * step * w, params, way))[0])
        for sign in (1, -1)
    )
    slope = sum(jax.tree.leaves(jax.tree.map(lambda g, w: (g * w).sum(), gradient, way)))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-7)


@pytest.mark.parametrize("attention", [Attention(score=ScaledDot()), None], ids=["scaled", "none"])
def test_the_search_gives_the_most_probable_label(attention):
    classifier = model(attention)
    params = drawn(classifier)
    # the special symbols' rows are made larger, so that they would win
    params["label"][:4] *= 20.0
    logits, _ = attention_of(classifier, params, SOURCE)
    found = jax.device_get(generate(classifier, params, SOURCE, Label(), extra=2))
    assert (np.asarray(logits[:4]).argmax(-1) < 4).any()
    np.testing.assert_array_equal(found.tokens[:4, 0, 0], 4 + logits[:4, 4:].argmax(-1))
    exact = np.float64(logits)
    probability = (exact - np.logaddexp.reduce(exact, -1, keepdims=True))[:4, 4:].max(-1)
    np.testing.assert_allclose(found.scores[:4, 0], probability, atol=1e-5)
    assert (found.tokens[4] == PAD).all()
    assert (found.tokens[..., 1:] == PAD).all()


def test_dropout_depends_on_the_key():
    classifier = model()
    params = drawn(classifier)

    @jax.jit
    def hidden(key):
        return classifier.apply(
            {"params": params},
            SOURCE,
            GIVEN,
            deterministic=False,
            rngs={"dropout": key},
            method="features",
        )[0]

    one = hidden(jax.random.key(0))
    assert not np.allclose(one, hidden(jax.random.key(1)))
    np.testing.assert_array_equal(one, hidden(jax.random.key(0)))


def test_refuses_what_is_no_labeled_text():
    with pytest.raises(UserError, match="a vocabulary of source and target; got None source and 7"):
        Classifier().with_vocabularies(None, 7)
    sized = Classifier().with_vocabularies(WORDS, LABELS)
    assert (sized.source_vocabulary, sized.vocabulary) == (WORDS, LABELS)
    classifier = model()
    with pytest.raises(UserError, match=r"one label to a text, .* got 2"):
        jitted.apply(
            classifier,
            {"params": drawn(classifier)},
            SOURCE,
            np.ones((5, 2), int),
            deterministic=True,
        )
    with pytest.raises(UserError, match="this Classifier has none"):
        model(None).alignment(drawn(model(None)), SOURCE, GIVEN)


def test_parameters():
    count = sum(leaf.size for leaf in jax.tree.leaves(drawn(model())))
    assert count == WORDS * D + 2 * 4 * W * (D + W + 1) + LABELS * 2 * W


def test_a_beam_is_not_for_labels():
    assert chosen_search(Label(), None) == Label()
    with pytest.raises(UserError, match="--beam is for sentences; this run answers with one label"):
        chosen_search(Label(), 5)


def test_the_logits_of_a_text_are_the_mean_of_those_of_its_places():
    classifier = model()
    params = drawn(classifier)
    logits, weights = attention_of(classifier, params, SOURCE)
    places = jitted.apply(classifier, {"params": params}, SOURCE, method="place_logits")
    mean = np.einsum("bs,bsv->bv", weights, places)
    np.testing.assert_allclose(mean, logits, rtol=1e-5, atol=1e-6)
