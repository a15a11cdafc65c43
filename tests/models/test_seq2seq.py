"""Recurrent models: against their papers, step against parallel, padding, what is seen when."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.align.local import LocalMonotonic, LocalPredictive
from attnjax.attention.attention import Attention
from attnjax.attention.heads.last_state import LastState
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.score.base import Dot, General, Location
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.rnn_cells import GRU, LSTM, GRUResetBefore
from attnjax.models.rnn_decoders import BahdanauDecoder, InputFeeding, LuongDecoder, NoInputFeeding
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from tests import jitted
from tests.models import decoder_oracle
from tests.models.stepwise import stepped_and_parallel

SOURCE_WORDS, WORDS, E, W, MAXOUT = 9, 11, 3, 4, 3
LENGTHS, T = (5, 2, 4), 4


def recurrent(encoder: Encoder, decoder: Any, dropout: float = 0.0) -> Seq2Seq:
    model = Seq2Seq(width=E, encoder=encoder, decoder=decoder, dropout=dropout)
    return model.with_vocabularies(SOURCE_WORDS, WORDS)


BOTH, TWO_FORWARD = Encoder(width=2), Encoder(width=W, layers=2, direction="forward")
GATED = Encoder(cell=GRUResetBefore(), width=2)
LUONG = recurrent(BOTH, LuongDecoder(width=W))
NO_FEEDING = recurrent(BOTH, LuongDecoder(width=W, feeding=NoInputFeeding()))
SUTSKEVER = recurrent(TWO_FORWARD, LuongDecoder(width=W, layers=2, attention=None))
BAHDANAU = recurrent(GATED, BahdanauDecoder(width=W, maxout=MAXOUT))
CHO = recurrent(
    Encoder(cell=GRUResetBefore(), width=W, direction="forward"),
    BahdanauDecoder(width=W, maxout=MAXOUT, attention=LastState()),
)
HEADS = recurrent(BOTH, LuongDecoder(width=W, attention=MultiHead(heads=2)))
LOCAL = recurrent(BOTH, LuongDecoder(width=W, attention=Attention(align=LocalMonotonic(reach=1))))
STACKED = recurrent(TWO_FORWARD, LuongDecoder(width=W, layers=2, attention=Attention(score=Dot())))
LOCATION = recurrent(BOTH, LuongDecoder(width=W, attention=Attention(score=Location(max_length=9))))
PREDICTIVE = recurrent(
    BOTH,
    LuongDecoder(width=W, attention=Attention(score=General(), align=LocalPredictive(reach=2))),
)
CUDNN = recurrent(
    Encoder(cell=GRU(), width=W, direction="forward"),
    BahdanauDecoder(cell=GRU(), width=W, maxout=MAXOUT),
)
near = Attention(align=LocalMonotonic(reach=1))
BAHDANAU_LOCAL = recurrent(GATED, BahdanauDecoder(width=W, maxout=MAXOUT, attention=near))
MODELS = {
    "luong": LUONG,
    "no_feeding": NO_FEEDING,
    "sutskever": SUTSKEVER,
    "bahdanau": BAHDANAU,
    "cho": CHO,
    "heads": HEADS,
    "local": LOCAL,
    "stacked": STACKED,
    "predictive": PREDICTIVE,
    "cudnn": CUDNN,
}
QUICK = ("luong", "bahdanau")
each_model = pytest.mark.parametrize(
    "model",
    [
        pytest.param(model, id=name, marks=[] if name in QUICK else [pytest.mark.long])
        for name, model in MODELS.items()
    ],
)


def sentences() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    source = draw.integers(4, SOURCE_WORDS, (len(LENGTHS), max(LENGTHS)))
    for row, length in zip(source, LENGTHS, strict=True):
        row[length:] = PAD
    return source, draw.integers(4, WORDS, (len(LENGTHS), T))


SOURCE, GIVEN = sentences()


@functools.cache
def drawn(model: Seq2Seq) -> Any:
    """Parameters without a zero, float64."""
    start = functools.partial(model.init, deterministic=True, mutable=["params"])
    shapes = jax.eval_shape(start, jax.random.key(0), SOURCE, GIVEN)["params"]
    draw = np.random.default_rng(1)
    return jax.tree.map(lambda leaf: draw.normal(0, 0.6, leaf.shape), shapes)


@functools.partial(jax.jit, static_argnames=("model",))
def parallel(model: Seq2Seq, params: Any, source: Any, given: Any) -> Any:
    return model.apply({"params": params}, source, given, deterministic=True)


@pytest.mark.parametrize(
    ("model", "cell", "feeding", "attention"),
    [
        (LUONG, "LSTM", True, "general"),
        (NO_FEEDING, "LSTM", False, "general"),
        (SUTSKEVER, "LSTM", False, None),
        (BAHDANAU, "GRUResetBefore", False, "additive"),
        (CHO, "GRUResetBefore", False, "last"),
        (STACKED, "LSTM", True, "dot"),
        (LOCATION, "LSTM", True, "location"),
        (PREDICTIVE, "LSTM", True, "predictive"),
        (CUDNN, "GRU", False, "additive"),
        (LOCAL, "LSTM", True, "monotonic"),
    ],
    ids=[
        "luong",
        "no_feeding",
        "sutskever",
        "bahdanau",
        "cho",
        "stacked",
        "location",
        "predictive",
        "cudnn",
        "local",
    ],
)
def test_equals_the_papers_equations(model, cell, feeding, attention, float64):
    params = drawn(model)
    # rows of other lengths are padding for a row: it changes nothing
    found = jax.device_get(parallel(model, params, SOURCE, GIVEN))
    for row, length in enumerate(LENGTHS):
        expected = decoder_oracle.recurrent(
            cell, params, SOURCE[row, :length], GIVEN[row], feeding=feeding, attention=attention
        )
        np.testing.assert_allclose(found[row], expected, atol=1e-13)


@each_model
def test_gradients_equal_differences(model, float64):
    """Along one direction through all parameters, at a curved function of the logits."""
    params = drawn(model)
    draw = np.random.default_rng(2)
    direction = jax.tree.map(lambda leaf: draw.normal(0, 1, leaf.shape), params)

    @jax.jit
    @jax.value_and_grad
    def read(step: Any) -> jax.Array:
        moved = jax.tree.map(lambda leaf, way: leaf + step * way, params, direction)
        return jnp.sin(parallel(model, moved, SOURCE, GIVEN)).sum()

    step = 1e-6
    (ahead, _), (behind, _), (_, slope) = jax.device_get([read(s) for s in (step, -step, 0.0)])
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-7)


@each_model
def test_one_step_at_a_time_equals_all_at_once(model, float64):
    stepped, at_once = stepped_and_parallel(model, drawn(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, at_once, atol=1e-13)


@each_model
def test_no_word_is_seen_before_it_is_given(model, float64):
    """By gradient: every logit of place t with respect to every given word's embedding."""
    params, words = drawn(model), np.arange(T)[None]  # each word of its own

    def first_row(table: jax.Array) -> jax.Array:
        return parallel(model, params | {"target": table}, SOURCE[:1], words)[0].sum(-1)

    gradient = jax.device_get(jax.jit(jax.jacrev(first_row))(params["target"]))[:, :T]
    seen = np.abs(gradient).sum(-1) > 0
    np.testing.assert_array_equal(seen, np.tri(T, dtype=bool))


@pytest.mark.parametrize("model", [LUONG, BAHDANAU, CHO, HEADS, LOCAL, BAHDANAU_LOCAL])
def test_the_weights_behind_each_word(model, float64):
    weights = jitted.call(model, "alignment", drawn(model), SOURCE, GIVEN)
    assert weights.shape == (len(LENGTHS), T, max(LENGTHS))
    for row, length in enumerate(LENGTHS):
        assert (weights[row, :, length:] == 0).all()
        reached = weights[row].sum(-1) > 0  # a window may have left the sentence behind
        np.testing.assert_allclose(weights[row].sum(-1)[reached], 1, atol=1e-12)
        assert reached[: length + 1].all()
    if model is HEADS:
        seen = jitted.call(model, "sown_attention", drawn(model), SOURCE, GIVEN)
        seen = seen["writer"]["attention"]["head"]
        (each,) = seen["weights"]
        assert np.shape(each)[2] == 2
        np.testing.assert_allclose(weights, np.mean(each, 2)[:, :, 0], atol=1e-12)
    if model is BAHDANAU_LOCAL:
        far = abs(np.arange(T)[:, None] - np.arange(max(LENGTHS))) > 1
        assert not weights[:, far].any()
    if model is CHO:
        assert [row.argmax(-1).tolist() for row in weights] == [[n - 1] * T for n in LENGTHS]


def test_a_fixed_vector_has_no_weights_to_show(float64):
    with pytest.raises(UserError, match="an alignment needs .* this Seq2Seq has none"):
        SUTSKEVER.alignment(drawn(SUTSKEVER), SOURCE, GIVEN)


def test_reading_backward_is_reading_the_reversed_source(float64):
    """All of a row, END first: the data's `Reversed` leaves END last."""
    turned = recurrent(Encoder(width=W, layers=2, direction="backward"), SUTSKEVER.decoder)
    params = drawn(SUTSKEVER)
    there = {name.replace("forward", "backward"): one for name, one in params["reader"].items()}
    whole = SOURCE[:1]  # no padding
    np.testing.assert_allclose(
        parallel(turned, params | {"reader": there}, whole, GIVEN[:1]),
        parallel(SUTSKEVER, params, whole[:, ::-1], GIVEN[:1]),
        atol=1e-13,
    )


def test_parameters():
    def lstm(inputs: int, width: int) -> int:
        return 4 * width * (inputs + width + 1)

    tables = E * (SOURCE_WORDS + WORDS) + WORDS * W
    attention = W * W + 2 * W * W + W * 4 * W  # general, merge, feed
    sizes = {name: sum(x.size for x in jax.tree.leaves(drawn(m))) for name, m in MODELS.items()}
    assert sizes["luong"] == tables + 2 * lstm(E, 2) + lstm(E, W) + attention
    assert sizes["no_feeding"] == sizes["luong"] - 4 * W * W
    assert sizes["sutskever"] == tables + 2 * (lstm(E, W) + lstm(W, W))


@pytest.mark.long
def test_the_fed_vector_and_the_word_are_drawn_as_one_matrix():
    """Glorot & Bengio 2010, eq. 16, of a gate's matrix [word; vector] -> state."""
    words, width = 300, 200
    fed = Seq2Seq(width=words, encoder=Encoder(width=width, direction="forward"))
    for feeding, inputs in ((InputFeeding(), words + width), (NoInputFeeding(), words)):
        model = fed.clone(decoder=LuongDecoder(width=width, feeding=feeding))
        model = model.with_vocabularies(SOURCE_WORDS, WORDS)
        start = functools.partial(model.init, deterministic=True, mutable=["params"])
        unit = jax.jit(start)(jax.random.key(0), SOURCE, GIVEN)["params"]["writer"]["unit_0"]
        limit = (6 / (inputs + width)) ** 0.5
        kernels = [unit[name]["kernel"] for name in ("input", "feed") if name in unit]
        assert [len(kernel) for kernel in kernels] == [words, width][: len(kernels)]
        assert len(kernels) == (2 if inputs > words else 1)
        for kernel in kernels:
            # uniform: the largest is near the limit, the deviation limit / sqrt 3
            assert 0.999 * limit < np.abs(kernel).max() <= limit
            assert np.std(kernel) == pytest.approx(limit / 3**0.5, rel=0.01)


@pytest.mark.parametrize(
    ("encoder", "decoder"),
    [
        (BOTH, LuongDecoder(width=W, layers=2)),
        (BOTH, LuongDecoder(width=2)),
        (GATED, LuongDecoder(width=W, cell=LSTM())),
    ],
    ids=["layers", "width", "unit"],
)
def test_a_decoder_that_cannot_start_from_the_encoder_is_refused(encoder, decoder):
    model = recurrent(encoder, decoder)
    with pytest.raises(UserError, match=r"layer by layer: widths \[\[.* were wanted .* are \[\["):
        jitted.init(model, jax.random.key(0), SOURCE, GIVEN, deterministic=True)


def test_no_text_is_refused():
    with pytest.raises(UserError, match="Seq2Seq wants a vocabulary .* got None source"):
        Seq2Seq().with_vocabularies(None, 7)
    with pytest.raises(ValueError, match="vocabularies must be numbers"):
        jitted.init(Seq2Seq(), jax.random.key(0), SOURCE, GIVEN, deterministic=True)


def test_dropout_is_drawn_anew_at_every_word():
    model = recurrent(BOTH, LuongDecoder(width=W, layers=1), dropout=0.5)
    params = jax.tree.map(np.float32, drawn(LUONG))

    @jax.jit
    def hidden(key: jax.Array) -> jax.Array:
        return model.apply(
            {"params": params},
            SOURCE,
            np.ones_like(GIVEN),
            deterministic=False,
            rngs={"dropout": key},
            method="features",
        )[0]

    one, other = jax.device_get([hidden(jax.random.key(seed)) for seed in (0, 1)])
    dropped = one == 0
    assert 0.2 < dropped.mean() < 0.8
    assert (dropped[:, 0] != dropped[:, 1]).any()
    assert (dropped != (other == 0)).any()
    np.testing.assert_array_equal(one, hidden(jax.random.key(0)))
