"""The step that is fast and the step as the papers write it are the same training."""

from functools import partial

import jax
import numpy as np
import optax

from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.data.batch_plan import Batch
from attnjax.data.special_tokens import PAD
from attnjax.models.feed_forward import FeedForward
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer
from attnjax.training.objectives.base import CrossEntropy, shifted
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import initial_state, on_one_device, train_step

WORDS, SMOOTHING, STEPS = 50, 0.1, 200


def model(implementation: str) -> Transformer:
    heads = MultiHead(heads=2, head=Attention(implementation=implementation))
    feed_forward = FeedForward(width=16)
    return Transformer(
        vocabulary=WORDS,
        width=8,
        num_encoder_layers=1,
        num_decoder_layers=1,
        encoder_layer=EncoderLayer(self_attention=heads, feed_forward=feed_forward),
        decoder_layer=DecoderLayer(
            self_attention=heads, cross_attention=heads, feed_forward=feed_forward
        ),
        dropout=0.0,
    )


def batch(random: np.random.Generator) -> Batch:
    """Return copies, each as long as chance has it."""
    sides = random.integers(4, WORDS, (8, 6), dtype=np.int32)
    sides[np.arange(6) >= random.integers(1, 7, (8, 1))] = PAD
    return Batch(sides, sides)


def plain_loss(params, batch):
    """Return the whole softmax of all logits, and attention whose weights are formed."""
    logits = model("dense").apply(
        {"params": params}, batch.source, shifted(batch.target), deterministic=True
    )
    wanted = optax.smooth_labels(jax.nn.one_hot(batch.target, WORDS), SMOOTHING)
    losses = optax.softmax_cross_entropy(logits, wanted)
    present = batch.target != PAD
    return (losses * present).sum() / present.sum()


def test_200_losses_are_those_of_the_plain_step(float64):
    recipe = Recipe(
        model=model("blockwise"),
        objective=CrossEntropy(smoothing=SMOOTHING),
        optimizer=Adam(schedule=Constant(value=1e-2)),
        training=Training(),
    )
    transform = recipe.optimizer.make()
    random = np.random.default_rng(0)
    # one program: the operations of a model one by one are 90
    begin = jax.jit(partial(initial_state, recipe=recipe))
    state = begin(jax.random.key(0), batch(random))
    plain = state.params, state.optimizer

    @jax.jit
    def fast_step(state, batch):
        return train_step(state, batch, recipe=recipe, over_devices=on_one_device)

    @jax.jit
    def plain_step(params, optimizer, batch):
        loss, gradients = jax.value_and_grad(plain_loss)(params, batch)
        updates, optimizer = transform.update(gradients, optimizer, params)
        return loss, (optax.apply_updates(params, updates), optimizer)

    losses, expected = [], []
    for _ in range(STEPS):
        given = batch(random)
        state, metrics = fast_step(state, given)
        loss, plain = plain_step(*plain, given)
        losses.append(metrics["loss"])
        expected.append(loss)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.3
