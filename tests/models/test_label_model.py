"""A model of one label is one method: training, search and ensembles ask for nothing else."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn

from attnjax.data.generated.sequences import Copy
from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.decoding.generate import generate
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.label import Label
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.models import LabelModel, SequenceModel, SymbolModel
from tests import jitted

SOURCE = np.array([[4, 5, END], [7, END, PAD], [PAD, PAD, PAD]])


class Mean(LabelModel):
    """The label of the mean of the words."""

    source_vocabulary: int | None = None

    @nn.compact
    def label_features(self, source, *, deterministic):
        normal = nn.initializers.normal(1.0)
        words = self.param("words", normal, (self.source_vocabulary, 4))
        table = self.param("labels", normal, (self.vocabulary, 4))
        present = (source != PAD)[..., None]
        mean = (words[source] * present).sum(1) / jnp.maximum(present.sum(1), 1)
        return mean[:, None], table


class Bag(SymbolModel):
    """Each word of the target from the one before it: enough for training, not for a search."""

    @nn.compact
    def features(self, source, decoder_input, *, deterministic):
        table = self.param("table", nn.initializers.normal(1.0), (self.vocabulary, 4))
        return table[decoder_input], table


def test_one_method_trains_and_is_searched():
    model = Mean().with_vocabularies(9, 11)
    start = np.full((3, 1), START)
    params = jitted.init(model, jax.random.key(0), SOURCE, start, deterministic=True)["params"]
    logits = jitted.apply(model, {"params": params}, SOURCE, start, deterministic=True)
    assert logits.shape == (3, 1, 11)
    found = jax.device_get(generate(model, params, SOURCE, Label(), extra=2))
    wanted = logits[:, 0]
    wanted[:, [PAD, START, END, UNKNOWN]] = -np.inf
    assert found.tokens[:2, 0, 0].tolist() == wanted[:2].argmax(-1).tolist()
    assert (found.tokens[2] == PAD).all()
    with pytest.raises(UserError, match="a Mean gives one label to a text, .* got 2"):
        jitted.apply(model, {"params": params}, SOURCE, np.ones((3, 2), int), deterministic=True)
    with pytest.raises(UserError, match="a Mean gives one label, found by search:label"):
        Greedy().check(model)


def test_a_model_that_cannot_be_searched_is_refused_before_training():
    experiment = Experiment(task=Copy(train=20, valid=4, test=4, longest=5), model=Bag())
    assert not issubclass(Bag, SequenceModel)
    experiment.objective.check(experiment.model)
    with pytest.raises(UserError, match="a Bag cannot be searched for any: it is no SequenceModel"):
        replace(experiment, search=Greedy()).resolve(experiment.task.load())
