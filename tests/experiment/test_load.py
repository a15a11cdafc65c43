"""The experiments that come along, in the settings that nobody runs in a test."""

import functools

import jax
import jax.numpy as jnp
import pytest

from attnjax.experiment.load import load
from attnjax.models.captioner import Captioner
from attnjax.runs.trust import shipped_folder

SETTINGS = [
    (path, name)
    for path in sorted(shipped_folder().glob("*.py"))
    for name in load(path).ablation.settings
]


@pytest.mark.parametrize(
    ("path", "setting"), SETTINGS, ids=lambda value: getattr(value, "stem", value)
)
def test_each_other_setting_is_whole(path, setting):
    """Its variants can be made, and what is claimed of them is what its task is scored by.

    Where nothing is decoded it is what is measured.
    """
    ablation = load(path).ablation.at(setting)
    answers = ablation.base.task.answers
    if answers is None:
        measured = {key.name for one in ablation.base.measures for key in one.keys(None)}
    else:
        measured = {{"exact": "exact_match", "text": "bleu"}[answers]}
    assert {claim.estimand.key.name for claim in ablation.claims} <= measured
    assert {figure.key.name for figure in ablation.published} <= measured
    assert ablation.claims
    assert ablation.published
    for name, experiment in ablation.variants.items():
        model = experiment.model
        ids = jnp.ones((1, 3), jnp.int32)
        sees = isinstance(model, Captioner)
        source, size = (jnp.ones((1, 8, 8, 3)), None) if sees else (ids, 9)
        start = functools.partial(model.with_vocabularies(size, 9).init, deterministic=True)
        assert jax.eval_shape(start, jax.random.key(0), source, ids), name
