"""Seeds with examples of their own at places: trained together they are trained one by one."""

from functools import partial

import jax
import numpy as np

from attnjax.data.generated.recall import MultiQueryRecall
from attnjax.data.loaded import Corpora
from attnjax.evaluation import EvalInputs, LabelAccuracy
from attnjax.training.step import initial_state, on_one_device, train_step
from attnjax.training.train_setup import TrainSetup
from tests import tiny_arena

EXPERIMENT = tiny_arena.softmax
STEPS = 7  # more than an epoch


def test_seeds_together_are_seeds_one_by_one():
    corpus = Corpora().of(EXPERIMENT.task)
    recipe = EXPERIMENT.resolve(corpus).recipe
    setup = TrainSetup.of(recipe, corpus).of_seeds(corpus, (1, 2))
    step = partial(train_step, recipe=recipe, over_devices=on_one_device)
    begin = jax.jit(partial(initial_state, recipe=recipe))
    each = {
        seed: [setup.plan_of(seed).batch(number, seed) for number in range(STEPS)]
        for seed in (1, 2)
    }
    assert each[1][0].target.shape == each[2][0].target.shape == (8, 1, 2)
    assert any(not np.array_equal(*pair) for pair in zip(each[1][0], each[2][0], strict=True))
    begun = [begin(jax.random.key(seed), each[seed][0]) for seed in (1, 2)]
    together = jax.tree.map(
        lambda *leaves: np.stack([*map(np.asarray, leaves)]),
        *[(state.step, state.params, state.optimizer, state.objective) for state in begun],
    )
    keys = jax.random.split(jax.random.key(0), 2)
    stack = jax.jit(jax.vmap(step))
    single = jax.jit(step)
    states = begun[0].replace(
        step=together[0], params=together[1], optimizer=together[2], objective=together[3], key=keys
    )
    alone = begun[1].replace(key=keys[1])
    for number in range(STEPS):
        batches = (each[seed][number] for seed in (1, 2))
        states, _ = stack(states, jax.tree.map(lambda *x: np.stack(x), *batches))
        alone, _ = single(alone, each[2][number])
    ours = jax.tree.map(lambda leaf: np.asarray(leaf)[1], states.params)
    for found, wanted in zip(*map(jax.tree.leaves, (ours, alone.params)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
    first = jax.tree.map(lambda leaf: np.asarray(leaf)[0], states.params)
    assert np.abs(first["embedding"] - ours["embedding"]).max() > 1e-2


def test_an_untrained_network_is_at_chance():
    """A model that has learnt nothing gives each of 28 symbols alike."""
    task = MultiQueryRecall(
        symbols=24, shortest=16, longest=16, train=8, valid=8, test=1024, seed=0
    )
    corpus, experiment = task.load(), EXPERIMENT
    model = experiment.model.with_vocabularies(*corpus.vocabularies.sizes)
    batching = experiment.training.batching.with_room(corpus.splits["test"], shapes=1)
    few = corpus.splits["test"][:1]
    source = few.source.padded(np.arange(1), (1, 16))
    asked = np.asarray(few[0].target)[None]
    init = jax.jit(lambda key: model.init(key, source, asked, deterministic=True))
    shares = []
    for seed in range(4):
        params = init(jax.random.key(seed))["params"]
        (accuracy, *_) = LabelAccuracy().after_training(EvalInputs(model, params, corpus, batching))
        shares.append(accuracy.value)
    # 4 networks, each of which prefers some symbols
    assert np.mean(shares) < 3 / corpus.vocabularies.target.size
