"""Loading: the shipped experiments in settings that nobody runs in a test, and names of parts."""

import functools
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from attnjax.errors import UserError
from attnjax.evaluation.bleu import Bleu
from attnjax.evaluation.measures.perplexity import Perplexity
from attnjax.evaluation.metric import ExactMatch
from attnjax.experiment.ablation import Ablation
from attnjax.experiment.claims import Claim
from attnjax.experiment.estimands import Difference
from attnjax.experiment.load import load, load_text
from attnjax.lab.runs.trust import shipped_folder
from attnjax.models.captioner import Captioner

TINY = Path(__file__).parents[1] / "tiny.py"
METRICS = {"exact": ExactMatch(), "text": Bleu(), None: None}
"""The metric of each kind of answers, if an experiment names none."""

# models of the papers' sizes, which take seconds
LARGE = ("bert", "linear_attention", "luong2015", "vaswani2017", "vaswani2017_table3")
SETTINGS = [
    pytest.param(path, name, marks=pytest.mark.long if path.stem in LARGE else [])
    for path in sorted(shipped_folder().glob("*.py"))
    for name in load(path).ablation.settings
]


@pytest.mark.parametrize(
    ("path", "setting"), SETTINGS, ids=lambda value: getattr(value, "stem", value)
)
def test_each_other_setting_is_whole(path, setting):
    """Its variants can be made, and they measure what is claimed and published of them."""
    ablation = load(path).ablation.at(setting)
    for name, experiment in ablation.variants.items():
        metric = experiment.metric or METRICS[experiment.task.answers]
        experiment = replace(experiment, metric=metric)
        ablation.check_claims(name, experiment)
        published = {figure.key for figure in ablation.published if figure.variant == name}
        assert published <= set(experiment.keys)
    for name, experiment in ablation.variants.items():
        model = experiment.model
        ids = jnp.ones((1, 3), jnp.int32)
        sees = isinstance(model, Captioner)
        source, size = (jnp.ones((1, 8, 8, 3)), None) if sees else (ids, 9)
        target = ids[:, :1] if getattr(model, "predicts_label", False) else ids
        target = jnp.ones((1, 2, 2), jnp.int32) if model.gives_labels else target
        start = functools.partial(model.with_vocabularies(size, 9).init, deterministic=True)
        assert jax.eval_shape(start, jax.random.key(0), source, target), name


@pytest.mark.parametrize(
    ("number", "region", "wanted"),
    [
        ("exact_match", {"high": -0.02}, "higher is better in exact match, so .* above 0"),
        ("bits_per_character", {"low": 0.01}, "lower is better in bits per character, .* below 0"),
    ],
)
def test_a_region_in_which_the_better_variant_is_the_worse_is_refused(number, region, wanted):
    base = replace(load(TINY).ablation.base, metric=ExactMatch(), measures=(Perplexity(),))
    better = Difference(number, better="first", worse="second")
    asked = Ablation(
        base=base,
        variants={"first": base, "second": replace(base, measures=())},
        claims=(Claim(text="It is better.", estimand=better, **region),),
    )
    with pytest.raises(UserError, match=f"'It is better.' calls first the better .*{wanted}"):
        asked.check_claims("first", base)
    alike = Claim(text="They are alike.", estimand=better, low=-0.02, high=0.02)
    replace(asked, claims=(alike,)).check_claims("first", base)


@pytest.mark.parametrize("path", sorted(shipped_folder().glob("*.py")), ids=lambda path: path.stem)
def test_the_claims_of_each_experiment_can_be_judged(path):
    ablation = load(path).ablation
    for name, experiment in ablation.variants.items():
        metric = experiment.metric or METRICS[experiment.task.answers]
        ablation.check_claims(name, replace(experiment, metric=metric))


# a class of a test stays a part of its process: no other test chooses taylor-features
OWN = """

from attnjax.attention.state.feature_map import SignedFeatureMap
from attnjax.attention.position import Position
from attnjax.attention.{module} import {name} as Shipped


class {name}({base}):
    def __call__(self, *arguments):
        return arguments[0]
"""


@pytest.mark.parametrize("base", ["SignedFeatureMap", "Shipped"])
def test_an_own_part_with_the_name_of_a_shipped_one_is_refused(base, tmp_path):
    path, text = tmp_path / "mine.py", (Path(__file__).parents[1] / "tiny.py").read_text()
    path.write_text(text + OWN.format(module="state.feature_map", name="TaylorFeatures", base=base))
    with pytest.raises(UserError) as refused:
        load(path)
    assert str(refused.value) == (
        f"{path}: attnjax.attention.state.feature_map.TaylorFeatures and a class of your own "
        "are both named TaylorFeatures; rename your own"
    )
    load_text(path.read_text(), name="mine", path=path)  # what a run has recorded goes on


def test_the_name_of_a_part_of_another_kind_is_free(tmp_path):
    path, text = tmp_path / "mine.py", (Path(__file__).parents[1] / "tiny.py").read_text()
    own = OWN.format(module="state.feature_map", name="TaylorFeatures", base="Position")
    path.write_text(text + own)
    assert "TaylorFeatures" in load(path).own


def test_a_path_may_be_a_text():
    path = Path(__file__).parents[1] / "tiny.py"
    assert load(str(path)) == load(path)
