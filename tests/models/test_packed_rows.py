"""Packed rows: losses and gradients are those of the same sentences in rows of their own."""

from collections.abc import Sequence

import jax
import numpy as np
import pytest

from attnjax.attention.align.base import Softmax
from attnjax.attention.align.local import LocalMonotonic, LocalPredictive
from attnjax.attention.attention import Attention
from attnjax.attention.heads.last_state import LastState
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.heads.self_attentive import SelfAttentive
from attnjax.attention.position import Learned
from attnjax.attention.score.base import Additive, Dot, General, Location
from attnjax.attention.score.positional import Alibi, Relative, Rotary
from attnjax.attention.state.linear import LinearAttention
from attnjax.config.vary import vary
from attnjax.data.batch_plan import Batch, PackedBatch
from attnjax.errors import UserError
from attnjax.models.captioner import Captioner
from attnjax.models.classifier import Classifier
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.rnn_cells import GRU, LSTM, Elman, GRUResetBefore
from attnjax.models.rnn_decoders import BahdanauDecoder, LuongDecoder, NoInputFeeding
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.sequence_layers import Convolution, Recurrence
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, PreNorm
from attnjax.nn.norm import BatchNorm
from attnjax.training import CrossEntropy, RedundancyPenalty, TeacherForcing
from tests.models.small import initial, small

WORDS, WIDTH = 12, 8
ROWS = (((3, 4), (5, 2), (1, 1)), ((2, 6), (6, 3)), ((4, 4),))
"""The lengths of source and target of the sentences of each row, END counted."""


def sentences() -> list[list[tuple[list[int], ...]]]:
    """Random words for the sentences of each row; every side ends with END."""
    draw = np.random.default_rng(0).integers
    return [
        [tuple([*draw(4, WORDS, length - 1).tolist(), 2] for length in pair) for pair in row]
        for row in ROWS
    ]


def stacked(rows: Sequence[Sequence[int]], length: int, filler: int | None = 0) -> np.ndarray:
    """Rows of one length; None: filled up with the number after a row's last."""
    full = [
        [*row, *[row[-1] + 1 if filler is None else filler] * (length - len(row))] for row in rows
    ]
    return np.array(full, np.int32)


def batches(places: int = 12) -> tuple[Batch, PackedBatch]:
    """The sentences in rows of their own, and packed."""
    rows = sentences()
    alone = [pair for row in rows for pair in row]
    sides = [stacked([pair[side] for pair in alone], 7) for side in (0, 1)]
    packed = [
        stacked([[word for pair in row for word in pair[side]] for row in rows], places)
        for side in (0, 1)
    ]
    numbers = [
        stacked(
            [[number for number, pair in enumerate(row) for _ in pair[side]] for row in rows],
            places,
            None,
        )
        for side in (0, 1)
    ]
    return Batch(*sides), PackedBatch(*packed, *numbers)


def seq2seq(**fields) -> Seq2Seq:
    return Seq2Seq(source_vocabulary=WORDS, vocabulary=WORDS, width=5, dropout=0.0, **fields)


def luong(score=None, align=None, **fields) -> Seq2Seq:
    encoder = Encoder(width=WIDTH // 2, **fields.pop("encoder", {}))
    attention = Attention(score=score or General(), align=align or Softmax())
    return seq2seq(
        encoder=encoder, decoder=LuongDecoder(attention=attention, width=WIDTH, **fields)
    )


def language_model(score=None, **fields) -> LanguageModel:
    attention = MultiHead(head=Attention(score=score) if score else Attention(), heads=2)
    layer = DecoderLayer(
        self_attention=attention, cross_attention=None, feed_forward=FeedForward(width=5)
    )
    shape = {"vocabulary": WORDS, "width": WIDTH, "num_layers": 1, "dropout": 0.0}
    return LanguageModel(**shape, layer=layer, **fields)


def bahdanau(attention=None, cell=None) -> Seq2Seq:
    decoder = BahdanauDecoder(
        attention=attention or Attention(score=Additive(width=5)),
        cell=cell or GRUResetBefore(),
        width=WIDTH,
        maxout=3,
    )
    return seq2seq(encoder=Encoder(cell=GRU(), width=WIDTH), decoder=decoder)


MODELS = {
    "transformer": small,
    "transformer, pre-norm": lambda: small(layers=1, residual=PreNorm()),
    "transformer, batch norm": lambda: small(layers=1, residual=PreNorm(norm=BatchNorm())),
    "transformer, batch norm and learned positions": lambda: small(
        layers=1, position=Learned(max_length=12), residual=PreNorm(norm=BatchNorm())
    ),
    "transformer, learned positions": lambda: small(layers=1, position=Learned(max_length=12)),
    "transformer, rotary": lambda: small(Rotary(), layers=1),
    "transformer, ALiBi": lambda: small(Alibi(), layers=1),
    "transformer, relative": lambda: small(Relative(max_distance=2), layers=1),
    "transformer, ALiBi and relative": lambda: small(
        Alibi(score=Relative(score=Dot(), max_distance=2)), layers=1
    ),
    "transformer, location": lambda: small(Location(max_length=12), layers=1),
    "transformer, local-m": lambda: small(layers=1, align=LocalMonotonic(reach=1)),
    "transformer, local-p": lambda: small(layers=1, align=LocalPredictive(reach=2)),
    "transformer, location and local": lambda: vary(
        small(layers=1),
        {
            "encoder_layer.self_attention.head.score": Location(max_length=12),
            "decoder_layer.self_attention.head.align": LocalMonotonic(reach=1),
            "decoder_layer.cross_attention.head.align": LocalPredictive(reach=2),
        },
    ),
    "luong": luong,
    "luong, location": lambda: luong(Location(max_length=12)),
    "luong, local-p": lambda: luong(align=LocalPredictive(reach=2)),
    "luong, two layers": lambda: luong(encoder={"layers": 2}, layers=2),
    "luong, no input feeding": lambda: luong(feeding=NoInputFeeding()),
    "luong, Elman": lambda: luong(encoder={"cell": Elman()}, cell=Elman()),
    "sutskever": lambda: seq2seq(
        encoder=Encoder(width=WIDTH, direction="forward", layers=2),
        decoder=LuongDecoder(attention=None, width=WIDTH, layers=2),
    ),
    "backward encoder": lambda: seq2seq(
        encoder=Encoder(cell=LSTM(), width=WIDTH, direction="backward"),
        decoder=LuongDecoder(width=WIDTH, feeding=NoInputFeeding()),
    ),
    "bahdanau": bahdanau,
    "bahdanau, LSTM": lambda: bahdanau(cell=LSTM()),
    "RNNencdec": lambda: bahdanau(LastState(readers="both")),
    "self-attentive": lambda: bahdanau(SelfAttentive(hops=2, width=3)),
    "language model": lambda: language_model(position=Learned(max_length=23)),
    "language model, rotary": lambda: language_model(Rotary()),
}


WITHIN = {
    "transformer": "transformer, ALiBi and relative",
    "transformer, pre-norm": "transformer, batch norm and learned positions",
    "transformer, batch norm": "transformer, batch norm and learned positions",
    "transformer, learned positions": "transformer, batch norm and learned positions",
    "transformer, rotary": "language model, rotary",
    "transformer, ALiBi": "transformer, ALiBi and relative",
    "transformer, relative": "transformer, ALiBi and relative",
    "transformer, location": "transformer, location and local",
    "transformer, local-m": "transformer, location and local",
    "transformer, local-p": "transformer, location and local",
    "luong": "luong, two layers",
    "luong, location": "transformer, location and local",
    "luong, local-p": "transformer, location and local",
    "luong, no input feeding": "backward encoder",
    "luong, Elman": "luong, two layers",
    "bahdanau, LSTM": "bahdanau",
    "language model": "language model, rotary",
}
"""Models whose packed parts are also within others, which the quick tests try."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if name in WITHIN else []) for name in MODELS],
)
def test_packed_equals_unpacked(name):
    model, objective = MODELS[name](), CrossEntropy()
    with jax.enable_x64(True):
        params = initial(model)
        # batch norm takes the moments of a batch only where a key says that the step is training's
        key = jax.random.key(0) if "batch norm" in name else None

        def loss(params, batch):
            totals = objective(model, params, (), batch, key=key)
            return totals["loss"][0], totals

        gradients = jax.jit(jax.grad(loss, has_aux=True))
        (alone, expected), (together, totals) = (gradients(params, batch) for batch in batches())
        for metric, pair in expected.items():
            np.testing.assert_allclose(totals[metric], pair, rtol=1e-9, err_msg=metric)
        for path, leaf in jax.tree.leaves_with_path(alone):
            other = dict(jax.tree.leaves_with_path(together))[path]
            assert leaf.dtype == np.float64
            np.testing.assert_allclose(other, leaf, rtol=1e-9, atol=1e-9, err_msg=str(path))


def encoder_of(mixer):
    """A Transformer whose encoder mixes words so."""
    return small().clone(
        encoder_layer=EncoderLayer(self_attention=mixer, feed_forward=FeedForward(width=5))
    )


@pytest.mark.parametrize(
    ("model", "objective", "message"),
    [
        (encoder_of(Convolution()), CrossEntropy(), "encoder_layer.self_attention is a Convolut"),
        (encoder_of(Recurrence()), CrossEntropy(), "is a Recurrence, which would mix"),
        (
            encoder_of(MultiHead(head=LinearAttention(), heads=2)),
            CrossEntropy(),
            "self_attention.head is a LinearAttention, which would mix the sentences",
        ),
        (
            small(position=Learned(max_length=11)),
            CrossEntropy(),
            "length=12 has 12 positions, more than the 11 of model.position.max_length",
        ),
        (
            language_model(position=Learned(max_length=22)),
            CrossEntropy(),
            "length=12 has 23 positions, more than the 22 of",
        ),
        (Classifier(), CrossEntropy(), "a Classifier reads one example a row"),
        (Captioner(), CrossEntropy(), "a Captioner reads one example a row"),
        (small(), TeacherForcing(), "TeacherForcing reads one example a row"),
        (small(), RedundancyPenalty(), "RedundancyPenalty reads one example a row"),
    ],
)
def test_refused_in_one_sentence(model, objective, message):
    with pytest.raises(UserError, match=message) as error:
        objective.check_packing(model, 12)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", MODELS)
def test_models_that_pack_are_not_refused(name):
    CrossEntropy().check_packing(MODELS[name](), 12)
