"""Parts of a layer: residual and norm chosen apart, a decoder without a source."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import traverse_util

from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Padding
from attnjax.config.vary import vary
from attnjax.models.feed_forward import ConvolutionFeedForward, FeedForward, GatedFeedForward
from attnjax.models.transformer_layers import EncoderLayer, NoResidual, PostNorm, PreNorm
from attnjax.nn.norm import BatchNorm, LayerNorm, NoNorm, RMSNorm
from tests import jitted
from tests.models.small import GIVEN, SOURCE, WIDTH, initial, small
from tests.models.stepwise import stepped_and_parallel


@pytest.mark.parametrize("norm, numbers", [(LayerNorm(), 2), (RMSNorm(), 1), (NoNorm(), 0)])
@pytest.mark.parametrize("residual, ends", [(PostNorm, 0), (PreNorm, 2)])
def test_every_sub_layer_has_a_norm_of_its_own(residual, ends, norm, numbers):
    names = traverse_util.flatten_dict(initial(small(residual=residual(norm=norm))), sep=".")
    found = [array.shape for name, array in names.items() if ".norm." in name]
    # two layers of each stack: two sub-layers in the encoder's, three in the decoder's
    assert found == [(WIDTH,)] * numbers * (2 * (2 + 3) + ends)


@pytest.mark.parametrize(
    "residual",
    [PostNorm(norm=RMSNorm()), pytest.param(PreNorm(norm=NoNorm()), marks=pytest.mark.long)],
)
def test_one_word_at_a_time_is_all_at_once(residual, float64):
    model = small(residual=residual, layers=1)
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


def test_without_residual_connections_a_layer_is_one_map_after_the_other(float64):
    heads, network = MultiHead(heads=2), FeedForward(width=5)
    layer = EncoderLayer(
        self_attention=heads, feed_forward=network, residual=NoResidual(), dropout=0.0
    )
    x = np.random.default_rng(0).normal(size=(2, 4, WIDTH))
    mask = Padding(SOURCE != 0)
    parameters = jitted.init(layer, jax.random.key(0), x, mask, deterministic=True)["params"]
    found = jitted.apply(layer, {"params": parameters}, x, mask, deterministic=True)
    context = heads.apply(
        {"params": parameters["self_attention"]}, x, mask=mask, deterministic=True
    )
    wanted = network.apply({"params": parameters["feed_forward"]}, context, deterministic=True)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("residual", [PostNorm, PreNorm])
def test_a_batch_norm_counts_words_alone_and_steps_by_its_running_moments(residual, float64):
    model = small(residual=residual(norm=BatchNorm()), layers=1)
    parameters = jax.tree.map_with_path(
        lambda path, leaf: abs(leaf) + 0.5 if path[-1].key == "running_variance" else leaf,
        initial(model),
    )
    stepped, parallel = stepped_and_parallel(model, parameters, SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)

    def train(source, given):
        def loss(parameters):
            logits = model.apply({"params": parameters}, source, given, deterministic=False)
            present = (given != 0) & (source != 0).any(1, keepdims=True)
            return jnp.where(present[..., None], jnp.sin(logits), 0).sum()

        return jax.jit(jax.value_and_grad(loss))(parameters)

    # more padding, and a filler row, which has START and nothing else
    source, given = np.pad(SOURCE, ((0, 1), (0, 2))), np.pad(GIVEN, ((0, 1), (0, 1)))
    given[2, 0] = 1
    for found, expected in zip(
        jax.tree.leaves(train(source, given)), jax.tree.leaves(train(SOURCE, GIVEN)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.long
def test_a_decoder_without_a_source_is_one_whose_attention_to_it_adds_nothing(float64):
    with_source = small(residual=PreNorm(), layers=2)
    without = vary(with_source, {"decoder_layer.cross_attention": None})
    parameters = traverse_util.flatten_dict(initial(with_source), sep=".")
    own = {name: array for name, array in parameters.items() if ".cross_attention" not in name}
    assert jax.tree.map(jnp.shape, traverse_util.unflatten_dict(own, sep=".")) == jax.tree.map(
        jnp.shape, initial(without)
    )
    silent = {
        name: jnp.zeros_like(array) if ".cross_attention.out" in name else array
        for name, array in parameters.items()
    }
    assert silent.keys() > own.keys()
    logits = [
        jitted.apply(
            model,
            {"params": traverse_util.unflatten_dict(params, sep=".")},
            SOURCE,
            GIVEN,
            deterministic=True,
        )
        for model, params in ((with_source, silent), (without, own))
    ]
    np.testing.assert_allclose(*logits, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "network",
    [
        ConvolutionFeedForward(width=5),
        pytest.param(GatedFeedForward(width=5), marks=pytest.mark.long),
    ],
)
def test_a_search_steps_through_every_feed_forward_network(network, float64):
    model = vary(small(layers=1), {"**.feed_forward": network})
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)


def test_a_decoder_without_a_source_writes_word_by_word(float64):
    model = vary(small(layers=2), {"decoder_layer.cross_attention": None})
    stepped, parallel = stepped_and_parallel(model, initial(model), SOURCE, GIVEN)
    np.testing.assert_allclose(stepped, parallel, rtol=0, atol=1e-12)
