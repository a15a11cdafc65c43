"""Layers over one sequence that stand where an encoder has its self-attention."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.attention import AttentionBase
from attnjax.attention.mask import Causal, Padding
from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.models.rnn_cells import Elman
from attnjax.models.sequence_layers import Convolution, Recurrence, SequenceLayer
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import EncoderLayer
from tests import jitted
from tests.models import recurrence_oracle

LAYERS = (Convolution(), Convolution(kernel_width=5, dilation=2), Recurrence(cell=Elman()))
X = np.random.default_rng(0).normal(size=(2, 7, 4)).astype(np.float32)
LENGTHS = (7, 4)
PRESENT = np.arange(7)[None] < np.array(LENGTHS)[:, None]


def parameters(layer: SequenceLayer, x: np.ndarray) -> dict:
    """Drawn ones, biases among them."""
    drawn = jitted.init(layer, jax.random.key(1), x, deterministic=True)["params"]
    noise = np.random.default_rng(2).normal
    return jax.tree.map(lambda leaf: (leaf + noise(0, 0.3, leaf.shape)).astype(x.dtype), drawn)


def convolution(layer: Convolution, params: dict, x: np.ndarray) -> np.ndarray:
    """y_t = b + sum_i W_i x_{t + dilation (i - (k-1)/2)}, position by position."""
    kernel, bias = params["convolution"]["kernel"], params["convolution"]["bias"]
    y = np.tile(bias, (len(x), 1))
    for t in range(len(x)):
        for i, matrix in enumerate(kernel):
            s = t + layer.dilation * (i - (layer.kernel_width - 1) // 2)
            if 0 <= s < len(x):
                y[t] += x[s] @ matrix
    return y


def recurrence(layer: Recurrence, params: dict, x: np.ndarray) -> np.ndarray:
    name = type(layer.cell).__name__
    sides = (params[side]["unit"] for side in ("forward", "backward"))
    return np.concatenate(
        [
            recurrence_oracle.read(name, side, x, backward=backward)[0]
            for side, backward in zip(sides, (False, True), strict=True)
        ],
        axis=-1,
    )


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_a_layer_is_its_equation_of_every_text_without_its_padding(layer, float64):
    x = X.astype(float)
    params = parameters(layer, x)
    found = jitted.apply(layer, {"params": params}, x, mask=Padding(PRESENT), deterministic=True)
    oracle = convolution if isinstance(layer, Convolution) else recurrence
    for row, length in enumerate(LENGTHS):
        wanted = oracle(layer, params, x[row, :length])
        np.testing.assert_allclose(found[row, :length], wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_no_gradient_reaches_padding(layer):
    params = parameters(layer, X)

    def loss(x):
        y = layer.apply({"params": params}, x, mask=Padding(PRESENT), deterministic=True)
        return (jnp.where(PRESENT[..., None], y, 0) ** 2).sum()

    gradient = np.asarray(jax.jit(jax.grad(loss))(X))
    assert (gradient[~PRESENT] == 0).all()
    assert (np.abs(gradient).sum(-1)[PRESENT] > 0).all()


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_it_is_no_attention_and_honors_no_other_mask(layer):
    name = type(layer).__name__
    with pytest.raises(UserError, match=f"{name} can leave out padding, .* got Causal"):
        jitted.init(layer, jax.random.key(0), X, mask=Causal(), deterministic=True)
    assert not isinstance(layer, AttentionBase)
    for place in ("cross_attention", "self_attention"):
        with pytest.raises(UserError, match=f"decoder_layer.{place}: wanted Attention.*{name}"):
            vary(Transformer(), {f"decoder_layer.{place}": layer})
    assert vary(Transformer(), {"encoder_layer.self_attention": layer})


def test_an_odd_width_has_no_halves():
    with pytest.raises(UserError, match="an even width; got 5"):
        jitted.init(Recurrence(), jax.random.key(0), np.ones((1, 2, 5)), deterministic=True)


@pytest.mark.parametrize(
    "layer", [pytest.param(LAYERS[0], marks=pytest.mark.long), *LAYERS[1:]], ids=repr
)
def test_an_encoder_takes_a_layer_for_its_self_attention(layer):
    model = Transformer(
        width=8,
        vocabulary=9,
        source_vocabulary=9,
        num_encoder_layers=2,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(self_attention=layer),
    )
    words = np.array([[4, 5, 6, 2], [7, 2, 0, 0]])
    params = jitted.init(model, jax.random.key(0), words, words, deterministic=True)
    call = partial(jitted.apply, model, deterministic=True)
    whole, alone = call(params, words, words), call(params, words[1:, :2], words[1:, :2])
    np.testing.assert_allclose(whole[1:, :2], alone, rtol=1e-4, atol=1e-5)
    layers = [params["params"][f"encoder_layers_{n}"]["self_attention"] for n in (0, 1)]
    first, second = (jax.tree.leaves(one) for one in layers)
    assert not any(np.array_equal(a, b) for a, b in zip(first, second, strict=True) if a.any())
