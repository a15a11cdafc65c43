"""Micro-batches change no result: not the losses, the parameters, the draws, or a state."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from attnjax.attention.align.one_hot import Hard
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.config.vary import vary
from attnjax.data.batch_plan import Batch
from attnjax.data.batching import Batching
from attnjax.data.packed import Packed
from attnjax.errors import UserError
from attnjax.models.bert import BertEncoder, bert_layer
from attnjax.models.bert_heads import BertPretraining
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import PreNorm
from attnjax.nn.counter_hash import bits
from attnjax.nn.norm import BatchNorm
from attnjax.training.accumulation import accumulate, micro_batches
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.objectives.masked_language_model import MaskedLanguageModel
from attnjax.training.objectives.show_attend_tell import Reinforce
from attnjax.training.objectives.teacher_forcing import TeacherForcing
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Recipe, Training
from attnjax.training.step import evaluation_step, initial_state, on_one_device, train_step
from tests.training.looping import CORPUS
from tests.training.toy import WORDS, Toy, ragged

HARD = MultiHead(head=Attention(align=Hard(0.5)), heads=2)
RECURRENT = Seq2Seq(width=4, encoder=Encoder(width=2), decoder=LuongDecoder(HARD, width=4))
RECURRENT = RECURRENT.with_vocabularies(WORDS, WORDS)
BERT = BertPretraining(
    bert=BertEncoder(width=4, num_layers=1, layer=bert_layer(heads=2, width=6))
).with_vocabularies(WORDS, None)


@given(rows=st.integers(1, 200), longest=st.integers(1, 50), tokens=st.integers(1, 2000))
def test_the_fewest_micro_batches_within_the_limit(rows, longest, tokens):
    count = micro_batches(rows, longest, tokens)
    size = -(-rows // count) * longest
    assert size <= max(tokens, longest)
    assert count == 1 or -(-rows // (count - 1)) * longest > tokens


drawn_bits = jax.jit(bits, static_argnums=1)


@pytest.mark.parametrize("tokens", [None, 6, 13, 18, 24, 29, 1000])
def test_the_parts_add_up_to_the_whole_and_draw_what_the_whole_draws(tokens):
    """Rows of 6 in micro-batches of 1 to 4 of the 7 rows, the last of them filled with PAD."""
    batch = ragged(1, seed=2, rows=7)[0]
    key = jax.random.key(5)

    def sums(batch: Batch) -> Any:
        drawn = bits(key, batch.source.shape) % 1000
        return jnp.sum(batch.source), jnp.sum(jnp.where(batch.target > 0, drawn, 0))

    found = jax.jit(partial(accumulate, sums, device_tokens=tokens))(batch)
    numbers = np.asarray(drawn_bits(key, batch.source.shape)) % 1000
    assert int(found[0]) == batch.source.sum()
    assert int(found[1]) == numbers[batch.target > 0].sum()


@pytest.mark.parametrize("tokens", [6, 13])
def test_the_parts_of_each_device_draw_what_the_whole_draws(tokens):
    """4 rows of 6 on each of two devices, in micro-batches of 1 or 2."""
    batch = ragged(1, seed=2, rows=8)[0]
    key = jax.random.key(5)

    def sums(batch: Batch) -> Any:
        return jnp.sum(jnp.where(batch.target > 0, bits(key, batch.source.shape) % 1000, 0))

    divided = jax.tree.map(lambda x: x.reshape(2, 4, 6), batch)
    parts = partial(accumulate, sums, device_tokens=tokens)
    on_devices = jax.jit(jax.vmap(parts, axis_name="data"))
    numbers = np.asarray(drawn_bits(key, batch.source.shape)) % 1000
    assert np.asarray(on_devices(divided)).sum() == numbers[batch.target > 0].sum()


def test_floats_are_filled_with_nan():
    batch = Batch(np.ones((3, 2, 4), np.float32), np.ones((3, 2), np.float32))

    def sums(batch: Batch) -> Any:
        return jnp.sum(jnp.isnan(batch.target[:, 0])), jnp.nansum(batch.source)

    assert jax.jit(partial(accumulate, sums, device_tokens=4))(batch) == (1, 24)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("model", "objective"),
    [
        (Toy(), CrossEntropy()),
        pytest.param(
            vary(RECURRENT, {"decoder.attention": MultiHead(heads=2)}),
            TeacherForcing(),
            marks=pytest.mark.long,
        ),
        pytest.param(RECURRENT, Reinforce(), marks=pytest.mark.long),
        pytest.param(BERT, MaskedLanguageModel(rate=0.5), marks=pytest.mark.long),
    ],
    ids=lambda part: type(part).__name__,
)
def test_an_update_and_an_evaluation_in_micro_batches_are_those_of_the_whole(model, objective):
    """Two updates: what the first leaves in the objective's state reaches the second."""
    batches = ragged(2, seed=4)

    def after(tokens: int | None) -> Any:
        recipe = Recipe(
            model=model,
            objective=objective,
            optimizer=Adam(schedule=Constant(value=1e-2), clip=1.0),
            training=Training(device_tokens=tokens),
        )

        @jax.jit
        def begin(key):
            state = initial_state(key, batches[0], recipe=recipe)
            wide = jax.tree.map(lambda x: x.astype("float64"), state.params)
            return state.replace(params=wide, optimizer=recipe.optimizer.make().init(wide))

        state = begin(jax.random.key(3))
        shared: Any = {"recipe": recipe, "over_devices": on_one_device}
        step = jax.jit(partial(train_step, **shared))
        found = []
        for batch in batches:
            state, metrics = step(state, batch)
            found += [state.params, state.objective, metrics]
        return *found, jax.jit(partial(evaluation_step, **shared))(state.params, batches[0])

    whole, parts = after(None), after(18)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9), parts, whole)


def test_a_row_that_is_longer_than_what_a_device_computes_is_refused():
    training = Training(device_tokens=5, batching=Batching(max_tokens=64))
    message = (
        r"example \d+ of the train split has 6 source and 6 target symbols .*"
        r"device_tokens=5.*max_tokens=64"
    )
    with pytest.raises(UserError, match=message):
        training.check(CORPUS)
    Training(device_tokens=6, batching=Batching(max_tokens=64)).check(CORPUS)


def test_a_packed_row_that_is_longer_than_what_a_device_computes_is_refused():
    def training(tokens: int) -> Training:
        return Training(device_tokens=tokens, batching=Packed(max_tokens=256, length=32))

    with pytest.raises(UserError, match=r"batching.length=32 .*training.device_tokens=31"):
        training(31).check(CORPUS)
    training(32).check(CORPUS)


def test_a_norm_over_the_batch_is_refused_by_name():
    def recipe(tokens: int | None) -> Recipe:
        return Recipe(
            model=Transformer(residual=PreNorm(norm=BatchNorm())),
            objective=CrossEntropy(),
            optimizer=Adam(),
            training=Training(device_tokens=tokens),
        )

    recipe(None).check(CORPUS)
    with pytest.raises(UserError, match=r"model.residual.norm is a BatchNorm.*device_tokens=64"):
        recipe(64).check(CORPUS)
