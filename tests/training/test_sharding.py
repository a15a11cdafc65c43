"""One device, eight on a mesh, eight under pmap; one seed and several: the same training."""

import re
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.heads.multihead import MultiHead
from attnjax.config.vary import vary
from attnjax.errors import UserError
from attnjax.models.feed_forward import FeedForward
from attnjax.models.rnn_decoders import LuongDecoder
from attnjax.models.rnn_encoder import Encoder
from attnjax.models.seq2seq import Seq2Seq
from attnjax.models.transformer import Transformer
from attnjax.models.transformer_layers import DecoderLayer, EncoderLayer, PreNorm
from attnjax.nn.norm import BatchNorm
from attnjax.training.devices import hosts, sharding
from attnjax.training.objectives import cross_entropy
from attnjax.training.objectives.base import CrossEntropy
from attnjax.training.optimizers import Adam
from attnjax.training.schedules import Constant
from attnjax.training.settings import Parallel, Precision, Recipe, Training
from attnjax.training.step import initial_state, train_step
from tests.training.toy import WORDS, Toy, ragged

HEADS = MultiHead(heads=2)
TRANSFORMER = Transformer(
    vocabulary=WORDS,
    width=8,
    num_encoder_layers=1,
    num_decoder_layers=1,
    encoder_layer=EncoderLayer(self_attention=HEADS, feed_forward=FeedForward(width=16)),
    decoder_layer=DecoderLayer(
        self_attention=HEADS, cross_attention=HEADS, feed_forward=FeedForward(width=16)
    ),
    dropout=0.3,
)
RECURRENT = Seq2Seq(
    source_vocabulary=WORDS,
    vocabulary=WORDS,
    width=8,
    encoder=Encoder(width=4, layers=2),
    decoder=LuongDecoder(width=8, layers=2),
    dropout=0.3,
)
BATCH_NORM = vary(TRANSFORMER, {"residual": PreNorm(norm=BatchNorm())})
OBJECTIVE = CrossEntropy()
# float32 holds the rate exactly: how a schedule's is rounded depends on the program around it
OPTIMIZER = Adam(schedule=Constant(value=2**-7), clip=1.0)


def run(
    model: Any,
    how: Parallel,
    count: int,
    *,
    seeds: tuple[int, ...],
    steps: int,
    dtype: str,
    device_tokens: int | None = None,
    precision: Precision = "float32",
) -> tuple[np.ndarray, Any, str]:
    """Return losses [steps, seeds], parameters with an axis of seeds, and one process's program."""
    together = len(seeds) > 1
    places = sharding.devices(how, rows=count, seeds=together)
    assert places.count == count
    training = Training(device_tokens=device_tokens, precision=precision)
    recipe = Recipe(model=model, objective=OBJECTIVE, optimizer=OPTIMIZER, training=training)
    step = partial(train_step, recipe=recipe)
    batches = list(zip(*(ragged(steps, seed) for seed in seeds), strict=True))

    def share(index: int) -> Any:
        each = batches[index]
        return places.shard(jax.tree.map(lambda *x: np.stack(x), *each) if together else each[0])

    def initial(key: jax.Array) -> Any:
        state = initial_state(key, batches[0][0], recipe=recipe)
        params = jax.tree.map(lambda x: x.astype(dtype), state.params)
        return state.replace(params=params, optimizer=OPTIMIZER.make().init(params))

    states = [jax.jit(initial)(jax.random.key(seed)) for seed in seeds]
    state = jax.tree.map(lambda *x: jnp.stack(x), *states) if together else states[0]
    state = places.replicate(state)
    compiled, program = cast(Any, places.compile(step, donate=True)), ""
    if hosts.count() == 1:
        lowered = compiled.lower(state, share(0))
        compiled = lowered.compile({"xla_backend_optimization_level": 0})  # compiles twice as fast
        program = compiled.as_text()
    losses = []
    for index in range(steps):
        state, metrics = compiled(state, share(index))
        losses.append(np.atleast_1d(places.fetch(metrics)["loss"]))
    params = jax.tree.map(np.asarray, places.fetch(state.params))
    if not together:
        params = jax.tree.map(lambda x: x[None], params)
    return np.stack(losses), params, program


COLLECTIVES = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|ragged-all-to-all"


def collectives(program: str) -> list[str]:
    """Return the collectives of a program, in its order."""
    return re.findall(rf" ({COLLECTIVES})(?:-start)?\(", program)


def assert_close(ours: Any, theirs: Any, tolerance: float) -> None:
    jax.tree.map(partial(np.testing.assert_allclose, rtol=0, atol=tolerance), ours, theirs)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("model", "seeds"),
    [
        (Toy(), (3, 5)),
        pytest.param(TRANSFORMER, (3,), marks=pytest.mark.long),
        pytest.param(RECURRENT, (3,), marks=pytest.mark.long),
    ],
    ids=["seeds", "transformer", "recurrent"],
)
def test_in_float64_devices_and_seeds_together_change_nothing(model, seeds):
    train = partial(run, model, steps=50, dtype="float64")
    alone = [train("mesh", 1, seeds=(seed,)) for seed in seeds]
    losses = np.concatenate([losses for losses, _, _ in alone], axis=1)
    params = jax.tree.map(lambda *x: np.concatenate(x), *(params for _, params, _ in alone))
    assert losses[-5:].mean() < losses[:5].mean()
    for how in ("mesh", "pmap"):
        ours, after, program = train(how, 8, seeds=seeds)
        np.testing.assert_allclose(ours, losses, rtol=0, atol=1e-9)
        assert_close(after, params, 1e-9)
        assert collectives(program) == ["all-reduce"]
    # rows of six tokens: eight micro-batches of a row on one device, two of two rows on each of two
    for how, count, tokens in (("mesh", 1, 6), ("mesh", 2, 12), ("pmap", 2, 12)):
        ours, after, program = train(how, count, seeds=seeds, device_tokens=tokens)
        np.testing.assert_allclose(ours, losses, rtol=0, atol=1e-9)
        assert_close(after, params, 1e-9)
        assert collectives(program[program.index("\nENTRY ") :]) == ["all-reduce"]
        assert collectives(program) == ["all-reduce"]


@pytest.fixture
def all_divided(monkeypatch):
    """Divide small arrays, too."""
    monkeypatch.setattr(sharding, "SMALL", 1)


@pytest.mark.usefixtures("float64", "all_divided")
@pytest.mark.parametrize(
    ("model", "seeds"),
    [
        pytest.param(Toy(), (3,), marks=pytest.mark.long),
        (Toy(), (3, 5)),
        pytest.param(TRANSFORMER, (3,), marks=pytest.mark.long),
        pytest.param(RECURRENT, (3, 5), marks=pytest.mark.long),
        pytest.param(BATCH_NORM, (3,), marks=pytest.mark.long),
    ],
    ids=["toy", "seeds", "transformer", "recurrent", "batch norm"],
)
def test_dividing_the_state_changes_nothing(model, seeds):
    train = partial(run, model, seeds=seeds, steps=10, dtype="float64")
    losses, params, _ = train("mesh", 4)
    ours, after, program = train("fsdp", 4)
    np.testing.assert_allclose(ours, losses, rtol=0, atol=1e-9)
    assert_close(after, params, 1e-9)
    assert {"all-gather", "reduce-scatter"} <= set(collectives(program))


@pytest.mark.usefixtures("float64", "all_divided")
def test_a_divided_state_is_trained_in_micro_batches():
    """Two rows of six tokens on each of four devices, at once or one after the other."""
    train = partial(run, Toy(), "fsdp", 4, seeds=(3,), steps=10, dtype="float64")
    losses, params, whole = train()
    ours, after, parts = train(device_tokens=6)
    np.testing.assert_allclose(ours, losses, rtol=0, atol=1e-9)
    assert_close(after, params, 1e-9)
    assert sorted(collectives(parts)) == sorted(collectives(whole))


def bytes_on_a_device(tree: Any) -> int:
    return sum(leaf.addressable_shards[0].data.nbytes for leaf in jax.tree.leaves(tree))


@pytest.mark.usefixtures("all_divided")
def test_a_device_holds_and_updates_its_slice_of_the_state():
    shapes = {"kernel": (6, 64, 3), "bias": (32,), "odd": (3, 5)}
    params = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    places = sharding.devices("fsdp", rows=8, seeds=False)

    def step(held: Any, batch: Any, *, over_devices: Any) -> Any:
        added = over_devices(lambda _, rows: jnp.float32(rows.target.sum()), held, batch)
        return jax.tree.map(lambda x: x + added.astype(x.dtype), held)

    held = places.replicate((params, OPTIMIZER.make().init(params)))
    # two moments of each array; 3 x 5 numbers cannot be divided by 8, nor can the two counts
    divided, whole = 3 * (6 * 64 * 3 + 32), 3 * 15 + 2
    assert bytes_on_a_device(held) == 4 * (divided // 8 + whole)
    after = places.compile(step, donate=True)(held, places.shard(ragged(1, 0)[0]))
    assert bytes_on_a_device(after) == 4 * (divided // 8 + whole)


@pytest.mark.long
@pytest.mark.usefixtures("float64")
def test_a_batch_norm_sees_the_global_batch():
    """Padding counts nowhere, and the running statistics are moved on every device alike."""
    seeds = (3, 5)
    train = partial(run, BATCH_NORM, steps=10, dtype="float64")
    alone = [train("mesh", 1, seeds=(seed,)) for seed in seeds]
    losses = np.concatenate([losses for losses, _, _ in alone], axis=1)
    params = jax.tree.map(lambda *x: np.concatenate(x), *(params for _, params, _ in alone))
    moved = params["encoder_layers_0"]["self_attention_residual"]["norm"]
    assert (np.abs(moved["running_mean"]) > 1e-3).all()
    for how in ("mesh", "pmap", "fsdp"):
        ours, after, _ = train(how, 8, seeds=seeds)
        np.testing.assert_allclose(ours, losses, rtol=0, atol=1e-9)
        assert_close(after, params, 1e-9)


@pytest.mark.long
def test_in_float32_devices_change_nothing(monkeypatch):
    monkeypatch.setattr(cross_entropy, "CHUNK", 2)
    train = partial(run, TRANSFORMER, seeds=(3,), steps=20, dtype="float32")
    losses, params, _ = train("mesh", 1)
    for how in ("mesh", "pmap"):
        ours, after, program = train(how, 8)
        np.testing.assert_allclose(ours, losses, rtol=0, atol=1e-5)
        assert_close(after, params, 1e-4)
        # gradients and metrics together, and outside the loop over the vocabulary
        assert collectives(program) == ["all-reduce"]
        assert collectives(program[program.index("\nENTRY ") :]) == ["all-reduce"]


@pytest.mark.long
@pytest.mark.usefixtures("all_divided")
@pytest.mark.parametrize("how", ["mesh", "fsdp"])
def test_rounded_products_are_those_of_a_device(how):
    train = partial(run, TRANSFORMER, steps=5, seeds=(3,), dtype="float32")
    alone, _, program = train("mesh", 1, precision="bfloat16_products")
    assert re.search(r"bf16\[[\d,]+\]", program)
    ours, _, program = train(how, 8, precision="bfloat16_products")
    assert re.search(r"bf16\[[\d,]+\]", program)
    # a sum in another order may round an operand to its other neighbor
    np.testing.assert_allclose(ours, alone, rtol=0, atol=3e-3)
    assert not np.array_equal(alone, train("mesh", 1)[0])


def test_uses_the_devices_that_divide_the_rows():
    six = sharding.devices("mesh", rows=12, seeds=False)
    assert (six.count, six.idle) == (6, 2)
    places = sharding.devices("pmap", rows=8, seeds=False)
    with pytest.raises(UserError, match="multiple of the 8 devices, got 6"):
        places.shard(ragged(1, 0, rows=6)[0])
