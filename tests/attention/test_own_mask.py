"""An attention's own mask: joined to the call's mask, chosen and recorded like any part."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, DenseMask, ExcludeSelf, Mask, Padding, Window
from attnjax.config.override import override, split
from attnjax.config.parts import parts
from attnjax.config.serialize import from_json, to_json
from attnjax.config.vary import field_at, vary
from attnjax.errors import UserError
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from tests import jitted
from tests.models.small import GIVEN, SOURCE, small

B, T, D = 2, 6, 8
X = jnp.asarray(np.random.default_rng(0).normal(size=(B, T, D)), jnp.float32)
WORDS = Padding(jnp.array([[True] * T, [True] * 4 + [False] * 2]))


def banded(before: int, after: int) -> np.ndarray:
    distance = np.arange(T)[None, :] - np.arange(T)[:, None]
    return (-before <= distance) & (distance <= after)


@pytest.mark.parametrize("implementation", ["dense", "blockwise"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_it_is_joined_to_the_mask_of_the_call(implementation, deterministic):
    dense = jnp.broadcast_to(banded(2, 1), (B, T, T))
    module = MultiHead(head=Attention(mask=Window(2, 1), implementation=implementation), heads=2)
    plain = MultiHead(head=Attention(implementation="dense"), heads=2)

    params = jitted.drawn(plain, X, deterministic=True)

    @jax.jit
    def read(x):
        how = {"deterministic": deterministic}
        own = [module.apply(params, x, mask=given, **how) for given in (None, WORDS)]
        band = DenseMask(dense)
        return own, [plain.apply(params, x, mask=mask, **how) for mask in (band, WORDS & band)]

    found, expected = read(X)
    np.testing.assert_allclose(found, expected, atol=1e-6)


class Dense(Mask):
    """The band as an array, which no experiment could record; for comparison only."""

    def dense(self, positions):
        return jnp.asarray(banded(1, 0))[positions.query[..., :, None], positions.key[..., None, :]]


def logits_of(model, params=None):
    init, call = (jax.jit(partial(how, deterministic=True)) for how in (model.init, model.apply))
    params = params or init(jax.random.key(0), SOURCE, GIVEN)
    return call(params, SOURCE, GIVEN), params


RECURRENT = Seq2Seq(
    source_vocabulary=12,
    vocabulary=12,
    width=4,
    encoder=Encoder(width=4),
    decoder=LuongDecoder(width=8),
    dropout=0.0,
)


@pytest.mark.parametrize(
    "model, field",
    [
        pytest.param(small(layers=1), "**.head.mask", marks=pytest.mark.long),
        (RECURRENT, "decoder.attention.mask"),
    ],
    ids=["transformer", "recurrent"],
)
def test_a_model_with_a_window_is_the_model_with_the_dense_mask(model, field):
    windowed, params = logits_of(vary(model, {field: Window(1, 0)}))
    expected, _ = logits_of(vary(model, {field: Dense()}), params)
    np.testing.assert_allclose(windowed, expected, atol=1e-6)
    assert not np.allclose(windowed, logits_of(model, params)[0], atol=1e-3)


def test_it_is_chosen_and_recorded_like_any_part():
    path = "encoder_layer.self_attention.head.mask"
    rest, overrides = split([f"{path}:window", f"--{path}.before", "3", f"--{path}.after", "0"])
    assert not rest
    model = override(Transformer(), overrides)
    assert model == vary(Transformer(), {path: Window(before=3, after=0)})
    assert from_json(to_json(model)) == model
    joined = vary(model, {path: Causal() & ExcludeSelf()})
    assert from_json(to_json(joined)) == joined
    assert override(model, split([f"{path}:none"])[1]) == Transformer()
    with pytest.raises(UserError, match="before: wanted int at least 0; got int -1"):
        override(model, split([f"--{path}.before", "-1"])[1])


def test_a_mask_with_an_array_is_no_field():
    with pytest.raises(UserError, match="wants a rule without arrays, such as Window; got Padding"):
        Attention(mask=Padding(np.ones((1, T), bool))).bind({}).prepare(X, X)


def test_every_mask_that_is_listed_can_be_chosen():
    path = "encoder_layer.self_attention.head.mask"
    hint, _ = field_at(Transformer(), path)
    assert {"causal", "window", "exclude-self", "and"} <= set(parts(hint))
    for name in parts(hint).keys() - {"or"}:
        model = override(Transformer(), split([f"{path}:{name}"])[1])
        model.encoder_layer.self_attention.head.bind({}).prepare(X, X)
    with pytest.raises(UserError, match="'alternatives'; choose it in an experiment file"):
        override(Transformer(), split([f"{path}:or"])[1])
    with pytest.raises(UserError, match="unknown part .*: 'padding'"):
        override(Transformer(), split([f"{path}:padding"])[1])
