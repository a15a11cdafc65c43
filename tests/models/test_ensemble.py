"""Several models as one."""

import jax
import numpy as np
import pytest
from scipy.special import softmax

from attnjax.attention.position import Learned
from attnjax.config.vary import vary
from attnjax.data.examples import Encoded, Examples
from attnjax.decoding.greedy import Greedy
from attnjax.decoding.label import Label
from attnjax.errors import UserError
from attnjax.models.base import logits
from attnjax.models.bert import BertEncoder, bert_layer
from attnjax.models.bert_heads import BertPretraining, BertTagger
from attnjax.models.classifier import Classifier
from attnjax.models.ensemble import Ensemble
from attnjax.models.transformer import Transformer
from tests import jitted


def test_the_probability_is_the_mean_of_models_of_two_widths():
    small = Transformer(vocabulary=7, num_encoder_layers=1, num_decoder_layers=1)
    members = [vary(small, {"width": n, "**.heads": 2}) for n in (4, 6)]
    source, given = np.array([[4, 5, 2], [6, 2, 0]]), np.array([[1, 5, 4], [1, 6, 2]])

    @jax.jit
    def both():
        params = [
            one.init(jax.random.key(seed), source, given, deterministic=True)["params"]
            for seed, one in enumerate(members)
        ]
        apart = [
            one.apply({"params": own}, source, given, deterministic=True)
            for one, own in zip(members, params, strict=True)
        ]
        joined = Ensemble(members=tuple(members))
        params = Ensemble.params(params)
        return apart, joined.apply({"params": params}, source, given, deterministic=True)

    apart, joined = jax.device_get(both())
    wanted = np.mean([softmax(logits, axis=-1) for logits in apart], axis=0)
    np.testing.assert_allclose(softmax(joined, axis=-1), wanted, rtol=1e-5)


def test_classifiers_find_a_label():
    """An ensemble of them wants what one of them wants: a search for a label, not for words."""
    one = Ensemble(members=(Classifier(), Classifier()))
    Label().check(one)
    with pytest.raises(UserError, match="gives one label, found by search:label; got Greedy"):
        Greedy().check(one)


def test_models_that_predict_words_too_give_the_mean_of_their_labels():
    """The call of a BertPretraining gives words, its features the label."""
    layer = bert_layer(width=4, heads=2)
    bert = BertEncoder(width=4, num_layers=1, layer=layer, position=Learned(max_length=6))
    member = BertPretraining(bert=bert).with_vocabularies(7, 6)
    source, label = np.array([[4, 5, 2], [6, 2, 0]]), np.array([[1], [1]])

    def labels(model, params):
        factors = jitted.apply(
            model, {"params": params}, source, label, deterministic=True, method="features"
        )
        return softmax(logits(*factors), axis=-1)

    params = [
        jitted.init(member, jax.random.key(seed), source, label, deterministic=True)["params"]
        for seed in range(2)
    ]
    wanted = np.mean([labels(member, own) for own in params], axis=0)
    joined = labels(Ensemble(members=(member, member)), Ensemble.params(params))
    np.testing.assert_allclose(joined, wanted, rtol=1e-5)


def test_an_example_must_fit_every_member():
    bert = BertTagger()
    with pytest.raises(UserError, match="a tag for each symbol"):
        Ensemble(members=(bert, bert)).check_examples(
            Examples.of([Encoded([4, 2], [5], None)]), "of a split"
        )
