"""The compiled glue over a real model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.symbols import END, PAD, START
from attnjax.decoding.search import Beam, Greedy
from attnjax.decoding.translate import translate
from attnjax.models.transformer import Transformer

EXTRA = 4
SOURCE = jnp.asarray([[5, 6, 7, END], [8, END, PAD, PAD], [PAD] * 4, [4, 9, END, PAD]])
LIMITS = [8, 6, 0, 7]


@pytest.fixture(scope="module")
def trained():
    """A model, its parameters, and its logits over prefixes."""
    model = Transformer(vocabulary=11, width=16, encoder_layers=1, decoder_layers=2)
    made = model.init(jax.random.key(1), SOURCE, SOURCE, deterministic=True, mutable=["params"])
    # a larger table makes sharper choices than the initial one does
    params = {**made["params"], "embedding": 3 * jnp.asarray(made["params"]["embedding"])}
    logits = jax.jit(
        lambda given: model.apply({"params": params}, SOURCE, given, deterministic=True)
    )
    return model, params, logits


def test_greedy_agrees_with_the_parallel_call(trained):
    model, params, logits = trained
    found = translate(model, params, SOURCE, Greedy(), extra=EXTRA)
    length = SOURCE.shape[1] + EXTRA
    assert found.tokens.shape == (4, 1, length)
    given = np.full((4, length), PAD)
    given[:, 0] = START
    wanted = np.full((4, length), PAD)
    going = np.asarray(LIMITS) > 0
    for place in range(length):
        now = np.array(logits(jnp.asarray(given))[:, place])
        now[:, [PAD, START]] = -np.inf
        token = np.where(np.asarray(LIMITS) == place + 1, END, now.argmax(-1))
        wanted[:, place] = np.where(going, token, PAD)
        going &= token != END
        if place + 1 < length:
            given[:, place + 1] = wanted[:, place]
    np.testing.assert_array_equal(found.tokens[:, 0], wanted)


def test_a_beam_scores_are_the_parallel_calls(trained):
    model, params, logits = trained
    found = translate(model, params, SOURCE, Beam(size=3), extra=EXTRA)
    for rank in range(3):
        tokens = found.tokens[:, rank]
        given = jnp.concatenate([jnp.full((4, 1), START), tokens[:, :-1]], axis=1)
        log_probability = jax.nn.log_softmax(logits(given))
        each = jnp.take_along_axis(log_probability, tokens[..., None], axis=-1)[..., 0]
        length = (tokens != PAD).sum(-1)
        assert (length <= jnp.asarray(LIMITS)).all()
        scores = jnp.where(tokens != PAD, each, 0).sum(-1) / jnp.maximum(length, 1)
        real = np.asarray([0, 1, 3])
        np.testing.assert_allclose(found.scores[real, rank], scores[real], atol=1e-5)
    assert (found.tokens[2] == PAD).all()
    assert np.isneginf(found.scores[2]).all()
