"""Seeds with examples of their own at places: trained together they are trained one by one."""

import io

import jax
import numpy as np
import pytest
from rich.console import Console

from attnjax.data.generated.recall import MultiQueryRecall
from attnjax.data.loaded import Corpora
from attnjax.evaluation import EvalInputs, LabelAccuracy
from attnjax.training.loop.loop import train
from attnjax.training.loop.run_state import Run
from attnjax.training.train_setup import TrainSetup
from tests import tiny_arena

pytestmark = pytest.mark.usefixtures("compiled_once")

EXPERIMENT = tiny_arena.softmax


def trained(folder, *seeds):
    corpus = Corpora().of(EXPERIMENT.task)
    recipe = EXPERIMENT.resolve(corpus).recipe
    setup = TrainSetup.of(recipe, corpus).of_seeds(corpus, seeds)
    runs = [Run(folder=folder / str(seed), seed=seed) for seed in seeds]
    return [outcome.params for outcome in train(runs, setup, console=Console(file=io.StringIO()))]


def test_seeds_together_are_seeds_one_by_one(tmp_path):
    one, two = trained(tmp_path / "together", 1, 2)
    (alone,) = trained(tmp_path / "alone", 2)
    gaps = jax.tree.map(lambda a, b: float(np.abs(a - b).max()), two, alone)
    assert max(jax.tree.leaves(gaps)) < 1e-5
    apart = jax.tree.map(lambda a, b: float(np.abs(a - b).max()), one, two)
    assert max(jax.tree.leaves(apart)) > 1e-2


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
