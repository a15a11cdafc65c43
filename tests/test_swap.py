"""Every score and every align goes into every model by one override."""

import functools

import jax
import jax.numpy as jnp
import pytest

from attnjax.attention.align import Align
from attnjax.attention.score import Score
from attnjax.models.decoders import LuongDecoder
from attnjax.models.layers import DecoderLayer, EncoderLayer, FeedForward
from attnjax.models.recurrence import Encoder
from attnjax.models.recurrent import Recurrent
from attnjax.models.transformer import Transformer
from attnjax.override import override, parts, split

WORDS = 7
RECURRENT = Recurrent(width=4, encoder=Encoder(width=4), decoder=LuongDecoder(width=8))
TRANSFORMER = Transformer(
    width=8,
    encoder_layers=1,
    decoder_layers=1,
    encoder=EncoderLayer(feed_forward=FeedForward(width=4)),
    decoder=DecoderLayer(feed_forward=FeedForward(width=4)),
)
CHOICES = [
    f"{field}:{name}"
    for field, base in (("score", Score), ("align", Align))
    for name, kind in sorted(parts(base).items())
    if kind is not None and kind.__module__.startswith("attnjax.")  # not another test's own
]


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("model", "attention"),
    [(RECURRENT, "decoder.attention"), (TRANSFORMER, "decoder.cross.attention")],
    ids=["recurrent", "transformer"],
)
def test_by_one_override(model, attention, choice):
    # what normalises wants a kernel beside it
    kernel = [f"{attention}.score:squared-exponential"] if choice == "align:normalise" else []
    rest, overrides = split([f"{attention}.{choice}", *kernel])
    assert not rest
    swapped = override(model, overrides).sized(WORDS, WORDS)
    ids = jnp.ones((2, 3), jnp.int32)
    start = functools.partial(swapped.init, deterministic=True, mutable=["params"])
    params = jax.eval_shape(start, jax.random.key(0), ids, ids)
    call = functools.partial(swapped.apply, deterministic=True)
    assert jax.eval_shape(call, params, ids, ids).shape == (2, 3, WORDS)
