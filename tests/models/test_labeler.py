"""A model of labels at places: against a language model's vectors, its gradients and padding."""

import functools
from dataclasses import replace

import jax
import numpy as np
import pytest

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Padding, Window
from attnjax.attention.position import NoPosition, Positions, Sinusoidal
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.feed_forward import FeedForward
from attnjax.models.labeler import Labeler
from attnjax.models.language_model import LanguageModel
from attnjax.models.recurrent_cell_mixer import RecurrentCellMixer
from attnjax.models.rnn_cells import GRU
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, Interleaved
from tests import jitted
from tests.models.recurrence_oracle import sigmoid
from tests.models.stepwise import stepped_and_parallel

WORDS, LABELS, WIDTH = 13, 7, 8
SOURCE = np.array([[4, 5, 6, 7, 8], [9, 10, 4, PAD, PAD]], np.int32)
PLACES = np.array([[4, 1, 0], [2, 0, 0]], np.int32)
ASKED = np.stack([PLACES, np.array([[4, 5, 6], [4, 5, PAD]])], -1).astype(np.int32)


def decoder(self_attention=None) -> DecoderLayer:
    return DecoderLayer(
        self_attention=self_attention or MultiHead(heads=2),
        cross_attention=None,
        feed_forward=FeedForward(width=12),
    )


def encoder() -> EncoderLayer:
    return EncoderLayer(self_attention=MultiHead(heads=2), feed_forward=FeedForward(width=12))


def labeler(layer=None, **fields) -> Labeler:
    model = Labeler(width=WIDTH, layer=layer or decoder(), position=Sinusoidal(), **fields)
    one = model.one_vocabulary
    return model.with_vocabularies(WORDS, WORDS if one else LABELS)


@functools.cache
def initial(model):
    """Return parameters in float64, whichever test asks first; a test in float32 rounds them."""
    with jax.enable_x64(True):
        return jitted.init(model, jax.random.key(0), SOURCE, ASKED, deterministic=True)["params"]


def test_vectors_are_those_of_a_language_model_with_the_same_parameters(float64):
    """Every layer's, at every word that a language model reads, also one of another kind."""
    own = replace(decoder(), value_residual=0.5)
    other = Interleaved(layer=replace(own, value_residual=0.25), period=2)
    shared = {"width": WIDTH, "position": Sinusoidal(), "dropout": 0.0, "interleaved": other}
    language = LanguageModel(num_layers=2, layer=own, vocabulary=WORDS, **shared)
    model = labeler(own, embeddings="tied", num_layers=2, interleaved=other)
    params = initial(model)
    text = SOURCE[:1]
    states, table = jitted.apply(
        language,
        {"params": params},
        text[:, :1],
        np.concatenate([[[1]], text[:, 1:]], 1),
        deterministic=True,
        method="features",
    )
    places = np.arange(5)[None]
    hidden, labels = jitted.apply(
        model, {"params": params}, text, places, deterministic=True, method="labels"
    )
    np.testing.assert_allclose(hidden, states, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(labels, table)


def test_logits_are_the_products_at_the_asked_places_whatever_the_labels(float64):
    model = labeler()
    params = initial(model)
    every = jitted.apply(model, {"params": params}, SOURCE, deterministic=True, method="read")
    wanted = np.take_along_axis(every, PLACES[..., None], 1) @ params["output_embedding"].T
    other = ASKED + np.array([0, 1], np.int32)
    for asked in (ASKED, other):
        found = jitted.apply(model, {"params": params}, SOURCE, asked, deterministic=True)
        assert found.shape == (2, 3, LABELS)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layer", [decoder(), encoder()], ids=["causal", "both directions"])
def test_gradients_come_from_words_that_are_seen_and_from_asked_places_alone(layer):
    # every word stands once, so a row of the embedding's gradient is one word's gradient
    model = labeler(layer)
    params = initial(model)
    causal = isinstance(layer, DecoderLayer)

    def read(params, places):
        hidden, _ = model.apply(
            {"params": params}, SOURCE[:1], places, deterministic=True, method="labels"
        )
        return hidden[0] @ np.sin(np.arange(WIDTH, dtype=np.float32))

    places = np.array([[1, 3]], np.int32)
    jacobian = jax.jit(jax.jacrev(read))(params, places)
    moves = np.abs(np.asarray(jacobian["embedding"])).sum(-1)
    for row, place in enumerate((1, 3)):
        for position, word in enumerate(SOURCE[0]):
            seen = position <= place or not causal
            assert (moves[row, word] > 1e-6) == seen
    assert (moves[:, [PAD, 1, 2, 3, 9, 10, 11, 12]] == 0).all()


@pytest.mark.parametrize("layer", [decoder(), encoder()], ids=["causal", "both directions"])
def test_padding_changes_nothing(layer, float64):
    model = labeler(layer)
    params = initial(model)
    call = functools.partial(jitted.apply, model, {"params": params}, deterministic=True)
    found = call(SOURCE, ASKED)
    alone = call(SOURCE[1:, :3], ASKED[1:])
    np.testing.assert_allclose(found[1:], alone, rtol=0, atol=1e-12)


def test_it_shows_its_attention_over_the_source():
    model = labeler()

    @jax.jit
    def weights(params):
        return {layer.name: layer.weights for layer in model.attentions(params, SOURCE, ASKED)}

    shown = jax.device_get(weights(initial(model)))
    assert list(shown) == [f"layers_{number}.self_attention" for number in range(2)]
    for array in shown.values():
        assert array.shape == (2, 2, 5, 5)
        np.testing.assert_allclose(array[0].sum(-1), 1, atol=1e-6)
        assert not (array * ~np.tril(np.ones((5, 5), bool))).any()


def test_what_does_not_fit_is_refused():
    model = labeler()
    with pytest.raises(UserError, match=r"an array \[B, K, 2\]; got an array \[2, 3\]: it wants a"):
        jax.eval_shape(lambda: model.init(jax.random.key(0), SOURCE, PLACES, deterministic=True))
    with pytest.raises(UserError, match="a Labeler has no other text to attend to"):
        Labeler(layer=DecoderLayer()).with_vocabularies(WORDS, LABELS)
    with pytest.raises(UserError, match="wants one vocabulary of both sides"):
        Labeler(embeddings="tied").with_vocabularies(WORDS, LABELS)


def lstm_states(params, x):
    """h_t of every word of one sequence [S, D], by Gers et al. 2000."""
    unit = params["unit"]
    c = h = np.zeros(x.shape[1])
    states = []
    for word in x:
        gates = word @ unit["input"]["kernel"] + unit["bias"] + h @ unit["recurrent"]
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def test_a_causal_lstm_is_the_equations_and_skips_padding(float64):
    x = np.random.default_rng(0).normal(size=(2, 5, 4))
    mixer = RecurrentCellMixer()
    present = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], bool)
    params = jitted.init(mixer, jax.random.key(0), x, mask=Causal(), deterministic=True)["params"]
    found = jitted.apply(
        mixer, {"params": params}, x, mask=Causal() & Padding(present), deterministic=True
    )
    np.testing.assert_allclose(found[0], lstm_states(params, x[0]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1, :2], lstm_states(params, x[1, :2]), rtol=0, atol=1e-12)
    # padding in between leaves the state as it is
    gap = np.array([1, 0, 1, 1, 0], bool)[None]
    skipping = jitted.apply(
        mixer, {"params": params}, x[:1], mask=Causal() & Padding(gap), deterministic=True
    )
    np.testing.assert_allclose(
        skipping[0, gap[0]], lstm_states(params, x[0, gap[0]]), rtol=0, atol=1e-12
    )


def test_a_recurrence_reads_a_word_at_a_time_in_a_search(float64):
    model = LanguageModel(
        vocabulary=WORDS,
        width=WIDTH,
        num_layers=2,
        layer=decoder(RecurrentCellMixer(cell=GRU())),
        position=NoPosition(),
        dropout=0.0,
    )
    given = np.array([[1, 4, 5], [1, 4, 9]], np.int32)
    params = jitted.init(model, jax.random.key(0), SOURCE, given, deterministic=True)["params"]
    stepped, parallel = stepped_and_parallel(model, params, SOURCE, given)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "it wants the mask Causal, and stands in a decoder's layer"),
        ({"mask": Causal() & Window(before=1)}, "the masks Padding and Causal, .*; got Window"),
        (
            {"mask": Causal(), "positions": Positions(np.zeros((1, 3), np.int32))},
            "reads one sequence in its order",
        ),
    ],
)
def test_a_recurrence_refuses_other_masks_and_positions(options, message):
    with pytest.raises(UserError, match=message):
        jax.eval_shape(
            lambda: RecurrentCellMixer().init(
                jax.random.key(0), np.zeros((1, 3, 4), np.float32), deterministic=True, **options
            )
        )
