"""The search in stages over real models, against the parallel call and the plain search."""

import functools
import math
from typing import Any
from unittest import mock

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, reject, settings

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.position import Learned
from attnjax.attention.score.base import General
from attnjax.data.special_tokens import END, PAD, START
from attnjax.decoding import generate as stages
from attnjax.decoding.beam import Beam
from attnjax.decoding.generate import generate
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.length_penalty import GNMT
from attnjax.models.feed_forward import FeedForward
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from tests import jitted
from tests.decoding.plain import Tie, plain

EXTRA = 4
SOURCE = np.array([[5, 6, 7, END], [8, END, PAD, PAD], [PAD] * 4, [4, 9, END, PAD]])
LIMITS = [8, 6, 0, 7]


@pytest.fixture(scope="module")
def trained():
    """A model, its parameters, and its logits over prefixes."""
    model = Transformer(vocabulary=11, width=16, num_encoder_layers=1, num_decoder_layers=1)
    params = jitted.init(
        model, jax.random.key(1), SOURCE, SOURCE, deterministic=True, mutable=["params"]
    )["params"]
    # a larger table makes sharper choices than the initial one does
    params["embedding"] *= 3

    def logits(given):
        return jitted.apply(model, {"params": params}, SOURCE, given, deterministic=True)

    return model, params, logits


def test_greedy_agrees_with_the_parallel_call(trained):
    model, params, logits = trained
    found = generate(model, params, SOURCE, Greedy(), extra=EXTRA)
    length = SOURCE.shape[1] + EXTRA
    assert found.tokens.shape == (4, 1, length)
    given = np.full((4, length), PAD)
    given[:, 0] = START
    wanted = np.full((4, length), PAD)
    going = np.asarray(LIMITS) > 0
    for place in range(length):
        now = logits(given)[:, place]
        now[:, [PAD, START]] = -np.inf
        token = np.where(np.asarray(LIMITS) == place + 1, END, now.argmax(-1))
        wanted[:, place] = np.where(going, token, PAD)
        going &= token != END
        if place + 1 < length:
            given[:, place + 1] = wanted[:, place]
    np.testing.assert_array_equal(found.tokens[:, 0], wanted)


def test_a_beam_scores_are_the_parallel_calls(trained):
    model, params, logits = trained
    found = jax.device_get(generate(model, params, SOURCE, Beam(size=3), extra=EXTRA))
    for rank in range(3):
        tokens = found.tokens[:, rank]
        given = np.concatenate([np.full((4, 1), START), tokens[:, :-1]], axis=1)
        scored = np.float64(logits(given))
        scored -= np.logaddexp.reduce(scored, axis=-1, keepdims=True)
        each = np.take_along_axis(scored, tokens[..., None], axis=-1)[..., 0]
        length = (tokens != PAD).sum(-1)
        assert (length <= LIMITS).all()
        scores = np.where(tokens != PAD, each, 0).sum(-1) / np.maximum(length, 1)
        real = np.asarray([0, 1, 3])
        np.testing.assert_allclose(found.scores[real, rank], scores[real], atol=1e-5)
    assert (found.tokens[2] == PAD).all()
    assert np.isneginf(found.scores[2]).all()


@st.composite
def batches(draw):
    """Sources of different lengths, filler among them, and a seed of parameters."""
    source = np.full((ROWS, PLACES), PAD)
    for row in source:
        length = draw(st.integers(0, PLACES))
        row[:length] = [draw(st.integers(4, WORDS - 1)) for _ in range(length)]
        row[max(length, 1) - 1] = END if length else PAD
    return source, draw(st.integers(0, 2**32 - 1))


ROWS, PLACES, WORDS = 5, 3, 9
ATTENTION = MultiHead(head=Attention(), heads=2)
TRANSFORMER = Transformer(
    vocabulary=WORDS,
    width=4,
    num_encoder_layers=1,
    num_decoder_layers=2,
    encoder_layer=EncoderLayer(self_attention=ATTENTION, feed_forward=FeedForward(width=3)),
    decoder_layer=DecoderLayer(
        # a score with parameters, whose heads are lifted, and one whose heads are one axis more
        self_attention=MultiHead(head=Attention(score=General()), heads=2),
        cross_attention=ATTENTION,
        feed_forward=FeedForward(width=3),
    ),
)
RECURRENT = Seq2Seq(
    source_vocabulary=WORDS,
    vocabulary=WORDS,
    width=3,
    encoder=Encoder(width=3),
    decoder=LuongDecoder(width=6),
)
SEARCHES = [
    Beam(size=3),
    Beam(size=1, length_penalty=GNMT()),
    Beam(size=2, min_words=2, max_words=4),
    Beam(size=12, max_words=1),  # more than there are
]


def random_parameters(model: Any, seed: int) -> Any:
    ids = np.ones((1, 2), np.int32)
    start = functools.partial(model.init, deterministic=True, mutable=["params"])
    shapes = jax.eval_shape(start, jax.random.key(0), ids, ids)["params"]
    normal = np.random.default_rng(seed).normal
    return jax.tree.map(lambda leaf: jnp.asarray(normal(size=leaf.shape)), shapes)


@pytest.mark.parametrize(
    ("model", "search"),
    [
        pytest.param(
            model,
            search,
            id=f"{name}-{search}",
            # a transformer's programs take half a minute to compile for each search
            marks=[] if name == "recurrent" and search == SEARCHES[2] else pytest.mark.long,
        )
        for name, model in (("recurrent", RECURRENT), ("transformer", TRANSFORMER))
        for search in SEARCHES
    ],
)
@given(batch=batches())
@settings(max_examples=5)
def test_stages_change_nothing(model, search, batch):
    source, seed = batch
    with (
        jax.enable_x64(True),
        mock.patch.object(stages, "FIRST", 1),
        mock.patch.object(stages, "FEWEST", 2),
    ):
        params = random_parameters(model, seed)
        found = jax.device_get(generate(model, params, source, search, extra=EXTRA))
        symbols = (source != PAD).sum(-1)
        limits = np.where(symbols, symbols + EXTRA, 0)
        try:
            wanted = plain(model, params, source, search, limits, PLACES + EXTRA)
        except Tie:
            reject()
    for tokens, scores, hypotheses in zip(found.tokens, found.scores, wanted, strict=True):
        count = len(hypotheses)
        assert [row[row != PAD].tolist() for row in tokens[:count]] == [
            each.tokens for each in hypotheses
        ]
        expected = [each.score for each in hypotheses]
        # float32: of a probability near 1 the logarithm is known to 1e-7 only
        np.testing.assert_allclose(scores[:count], expected, rtol=1e-4, atol=1e-6)
        assert np.isneginf(scores[count:]).all()
        assert (tokens[count:] == PAD).all()


def test_an_answer_does_not_depend_on_who_else_is_in_the_batch():
    """Also where there are only so many positions."""
    model = TRANSFORMER.clone(position=Learned(max_length=9), num_decoder_layers=1)
    params, search = random_parameters(model, 0), Beam(size=2, min_words=7)
    short = [5, END]
    rows = np.array([[*short, *[PAD] * 6], [4, 5, 6, 7, 8, 4, 5, END]])
    together, alone = jax.device_get(
        [generate(model, params, x, search, extra=EXTRA) for x in (rows, np.array([short]))]
    )
    assert together.tokens.shape[-1] == 9
    length = alone.tokens.shape[-1]
    np.testing.assert_array_equal(together.tokens[0, :, :length], alone.tokens[0])
    assert (together.tokens[0, :, length:] == PAD).all()
    np.testing.assert_allclose(together.scores[0], alone.scores[0], rtol=1e-5)
    assert (alone.tokens[0, 0] != PAD).sum() == len(short) + EXTRA


def test_programs_are_no_more_than_said():
    source = np.full((20, PLACES), PAD)
    source[:, 0] = END
    before = stages._stage._cache_size()
    for seed in range(6):
        params = random_parameters(RECURRENT, seed)
        generate(RECURRENT, params, source, Beam(size=2), extra=40)
    sizes, lengths = 1 + math.ceil(math.log2(20 / 8)), 1 + math.ceil(math.log2(43 / 16))
    assert stages._stage._cache_size() - before <= sizes * lengths
