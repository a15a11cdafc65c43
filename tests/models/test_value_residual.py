"""The values of the first layer in later ones: equations, gradients, remat, search, refusals."""

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

from attnjax.attention.attention import Attention
from attnjax.attention.heads.carried import Carried
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal
from attnjax.attention.position import NoPosition
from attnjax.attention.state.recurrent import DeltaRule
from attnjax.errors import UserError
from attnjax.models.feed_forward import FeedForward
from attnjax.models.language_model import LanguageModel
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, Interleaved
from attnjax.nn.remat import KeepInputs
from tests import jitted
from tests.attention import oracle
from tests.models.small import GIVEN, HEADS, SOURCE, initial
from tests.models.stepwise import stepped_and_parallel

B, T, D = 2, 4, 6
SMALL = FeedForward(width=5)


def layer(head: Any = Attention(), cross_attention: Any = None, **options: Any) -> DecoderLayer:
    return DecoderLayer(
        self_attention=MultiHead(head=head, heads=HEADS),
        cross_attention=cross_attention,
        feed_forward=SMALL,
        **options,
    )


def language_model(own: DecoderLayer, other: DecoderLayer | None = None) -> LanguageModel:
    return LanguageModel(
        vocabulary=12,
        width=8,
        num_layers=3,
        layer=own,
        interleaved=None if other is None else Interleaved(layer=other, period=2),
        position=NoPosition(),
        dropout=0.0,
    )


def test_heads_mix_the_values_by_the_equation_with_gradients(float64):
    draw = np.random.default_rng(0).normal
    x, first, direction = draw(size=(B, T, D)), draw(size=(B, T, 2, 3)), draw(size=(B, T, D))
    module = MultiHead(heads=2)
    variables = jitted.init(module, jax.random.key(0), x, deterministic=True)
    own = jax.tree.map(np.asarray, variables["params"])

    def read(x, values):
        given = Carried(values=values, share=0.25)
        apply: Any = partial(module.apply, variables, deterministic=True)
        context = apply(x, mask=Causal(), carried=given)
        return (context * direction).sum(), context

    def expected(x, first):
        merged = []
        for sentence, values in zip(x, first, strict=True):
            context = 0
            for h in range(2):
                q, k, v = (
                    sentence @ own[name]["kernel"][:, h] for name in ("query", "key", "value")
                )
                weights = oracle.softmax(oracle.scaled_dot(q, k), np.tri(T, dtype=bool))
                mixed = 0.75 * v + 0.25 * values[:, h]
                context = context + weights @ mixed @ own["out"]["kernel"][h]
            merged.append(context)
        return np.array(merged)

    (_, context), slopes = jax.jit(jax.value_and_grad(read, (0, 1), has_aux=True))(x, first)
    np.testing.assert_allclose(context, expected(x, first), rtol=0, atol=1e-12)
    by_oracle = oracle.gradient(lambda given: (expected(*given) * direction).sum(), (x, first))
    for slope, numbers in zip(slopes, by_oracle, strict=True):
        np.testing.assert_allclose(slope, numbers, rtol=0, atol=1e-11)


def losses_and_slopes(model: LanguageModel, params: Any) -> tuple[Any, Any]:
    def loss(params: Any) -> jax.Array:
        call: Any = partial(model.apply, {"params": params}, deterministic=False)
        hidden, _ = call(SOURCE, GIVEN, method="features")
        return (hidden**2 * np.arange(8.0)[None, None]).sum()

    return jax.device_get(jax.jit(jax.value_and_grad(loss))(params))


def test_later_layers_whose_share_is_all_have_the_values_of_the_first_alone(float64):
    """The first layer's map of values gets their gradients; layers kept from memory change none."""
    model = language_model(layer(value_residual=1.0), layer(DeltaRule(), value_residual=1.0))
    params = initial(model)
    loss, slopes = losses_and_slopes(model, params)
    of_values = [slopes[f"layers_{n}"]["self_attention"]["value"]["kernel"] for n in range(3)]
    assert np.abs(of_values[0]).max() > 1e-3
    assert not np.any(of_values[1:])
    rematerialized = language_model(
        layer(value_residual=1.0, remat=KeepInputs()),
        layer(DeltaRule(), value_residual=1.0, remat=KeepInputs()),
    )
    again = losses_and_slopes(rematerialized, params)
    np.testing.assert_allclose(again[0], loss, rtol=1e-12)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=0, atol=1e-9), again[1], slopes)


def test_a_share_of_nothing_is_a_model_without(float64):
    with_share, without = language_model(layer(value_residual=0.0)), language_model(layer())
    params = initial(without)
    found, expected = (losses_and_slopes(model, params) for model in (with_share, without))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=0, atol=1e-12), found[1], expected[1])


def test_steps_of_a_decoder_with_a_source_equal_all_words_at_once(float64):
    heads = MultiHead(heads=HEADS)
    model = Transformer(
        vocabulary=12,
        width=8,
        num_encoder_layers=1,
        num_decoder_layers=2,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=SMALL),
        decoder_layer=layer(cross_attention=heads, value_residual=0.5),
        dropout=0.0,
    )
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-9)


def test_layers_without_heads_or_with_others_are_refused():
    alone = DecoderLayer(self_attention=Attention(), cross_attention=None, value_residual=0.5)
    with pytest.raises(UserError, match="wants the self_attention MultiHead; got Attention"):
        initial(language_model(alone))
    wider = layer(value_residual=0.5)
    wider = wider.clone(self_attention=MultiHead(heads=4))
    with pytest.raises(UserError, match=r"as the first: \[2, 4\]; got \[4, 2\]"):
        initial(language_model(layer(value_residual=0.5), wider))
