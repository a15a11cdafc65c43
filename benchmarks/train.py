"""Training steps as `attnjax run` takes them: loss, gradients, Adam."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import PAD
from attnjax.evaluation.flops import update_flops
from attnjax.models.feed_forward import FeedForward
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.training.devices import sharding
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Precision, Recipe, Training
from attnjax.training.step import initial_state, state_shapes, train_step
from benchmarks.workload import Prepared, Workload

VOCABULARY, DROPOUT, SMOOTHING = 10_000, 0.1, 0.1
SYMBOLS = 4
"""The first number that is a word; smaller numbers are special tokens."""
PADDED = 4
"""The number of padded positions at the end of every source."""


class Size(NamedTuple):
    """The size of a Transformer and of its batch."""

    width: int
    feed_forward: int
    layers: int
    heads: int
    rows: int
    length: int


SIZES = {
    "tiny": Size(128, 256, 4, 4, 128, 32),
    "small": Size(256, 1_024, 3, 4, 128, 32),
    "base": Size(512, 2_048, 6, 8, 32, 32),
}
ROWS, LENGTH, WIDTH = 128, 20, 512
"""The size of Luong's translator."""
ADAM = Adam(schedule=Constant(value=1e-4), epsilon=1e-8)


def transformer(size: Size, vocabulary: int = VOCABULARY) -> Transformer:
    """Return a Transformer with dropout where PyTorch's nn.Transformer has it."""
    heads = MultiHead(heads=size.heads, head=Attention(dropout=DROPOUT))
    feed_forward = FeedForward(width=size.feed_forward, dropout=DROPOUT)
    return Transformer(
        vocabulary=vocabulary,
        width=size.width,
        num_encoder_layers=size.layers,
        num_decoder_layers=size.layers,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
        dropout=DROPOUT,
    )


def luong() -> Seq2Seq:
    """Return Luong's translator: an LSTM layer a side, general score, input feeding, no dropout."""
    return Seq2Seq(
        source_vocabulary=VOCABULARY,
        vocabulary=VOCABULARY,
        width=WIDTH,
        encoder=Encoder(width=WIDTH // 2),
        decoder=LuongDecoder(width=WIDTH),
        dropout=0.0,
    )


def batch(rows: int, length: int, *, padded: int = 0, vocabulary: int = VOCABULARY) -> Batch:
    """Draw a batch of random words; the last `padded` positions of every source are PAD."""
    draw = np.random.default_rng(0).integers
    source, target = draw(SYMBOLS, vocabulary, (2, rows, length), dtype=np.int32)
    source[:, length - padded :] = PAD
    return Batch(source, target)


def prepare(
    model: Any,
    given: Batch,
    smoothing: float = SMOOTHING,
    precision: Precision = "float32",
    seeds: int = 1,
) -> Prepared:
    """Prepare an update of `seeds` runs that train together; every call goes on from the last."""
    recipe = Recipe(
        model=model,
        objective=CrossEntropy(smoothing=smoothing),
        optimizer=ADAM,
        training=Training(precision=precision),
    )
    devices = sharding.devices("mesh", rows=len(given.target), seeds=seeds > 1)
    first: Callable[..., Any] = jax.jit(partial(initial_state, batch=given, recipe=recipe))
    state, stacked = first(jax.random.key(0)), given
    if seeds > 1:
        state = jax.vmap(first)(jax.random.split(jax.random.key(0), seeds))
        stacked = Batch(*(np.stack([array] * seeds) for array in given))
    held, shared = devices.replicate(state), devices.shard(stacked)
    compiled = devices.compile(partial(train_step, recipe=recipe), donate=True)

    def call() -> Any:
        nonlocal held
        held, metrics = compiled(held, shared)
        return metrics

    flops = update_flops(recipe, state_shapes(recipe, given), given)
    return Prepared(call=call, flops=flops * seeds)


def prepare_size(size: Size, precision: Precision = "float32", seeds: int = 1) -> Prepared:
    """Prepare an update of the Transformer of a size on its batch."""
    given = batch(size.rows, size.length, padded=PADDED)
    return prepare(transformer(size), given, precision=precision, seeds=seeds)


def updates(
    name: str, prepare: Callable[[], Prepared], peer: Sequence[str], tokens: int, **more: Any
) -> Workload:
    """Return a workload of updates on batches with a number of target tokens."""
    unit = "target tokens/s"
    return Workload(name=name, prepare=prepare, peer=tuple(peer), amount=tokens, unit=unit, **more)


def _of_each_size(
    prefix: str, precision: Precision, *arguments: str, operands: str = "float32"
) -> tuple[Workload, ...]:
    """Return a workload for each size; the peer's program gets the arguments after the size."""
    return tuple(
        updates(
            f"{prefix}-{name}",
            partial(prepare_size, size, precision),
            ["torch_transformer.py", name, *arguments],
            size.rows * size.length,
            operands=operands,
        )
        for name, size in SIZES.items()
    )


WORKLOADS = _of_each_size("train", "float32")

ROUNDED = _of_each_size("rounded", "bfloat16_products", "medium", operands="bfloat16")
"""The same with products of operands in bfloat16, which PyTorch calls a medium precision."""

SEQ2SEQ = (
    updates(
        "seq2seq-luong",
        lambda: prepare(luong(), batch(ROWS, LENGTH), 0.0),
        ["torch_luong.py"],
        ROWS * LENGTH,
    ),
)
