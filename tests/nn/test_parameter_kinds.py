"""Kinds of parameters: every name of the house, the update of each kind, names that clash."""

import ast
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import attnjax
import attnjax.attention
import attnjax.models
from attnjax.nn.parameter_kinds import (
    Kind,
    declare,
    keep_untrained,
    kind_of,
    number_trained,
    trained_only,
)

FLAX = {"kernel", "bias", "scale"}
"""Of Flax's own layers."""
DECAY = {
    *{"kernel", "recurrent", "weight", "v", "by_distance", "class", "embedding", "segment"},
    *{"source", "target", "output", "words", "table", "label"},
    *{"source_embedding", "output_embedding", "query"},
    *{"key_map", "value_map"},
    *{"lambda_a", "lambda_b", "lambda_c", "lambda_d"},
}
DO_NOT_DECAY = {
    "bias",
    "word_bias",
    "candidate_bias",
    "scale",
    "log_scale",
    "log_bandwidth",
    "sink",
    "by_bucket",
    "logits_row",
    "weights_row",
    "log_rate",
}
OTHERS = {
    "running_mean": Kind.RUNNING,
    "running_variance": Kind.RUNNING,
    "constant_projection": Kind.CONSTANT,
}
PARAMS = {
    "kernel": jnp.ones((2, 3)),
    "bias": jnp.ones(3),
    "norm": {"running_mean": jnp.ones(5)},
    "map": {"constant_projection": jnp.ones((7, 2))},
}


def names_of_the_house() -> set[str]:
    """The first argument of every `self.param(...)` in the package."""
    names = set()
    for path in Path(attnjax.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "param":
                assert isinstance(call.args[0], ast.Constant), f"{path.name}: a name is written out"
                names.add(call.args[0].value)
    return names | FLAX


def test_every_parameter_of_the_house_has_the_kind_that_stands_here():
    wanted = dict.fromkeys(DECAY, Kind.WEIGHT) | dict.fromkeys(DO_NOT_DECAY, Kind.UNDECAYED)
    wanted |= OTHERS
    assert names_of_the_house() == set(wanted)
    assert {name: kind_of(f"layers_0.part.{name}") for name in wanted} == wanted


def test_the_last_name_of_a_path_decides():
    assert kind_of("bias.kernel") is Kind.WEIGHT
    assert kind_of("rebias") is Kind.WEIGHT


def test_what_is_not_trained_has_no_gradient_and_does_not_count():
    assert number_trained(PARAMS) == 2 * 3 + 3
    kept = trained_only(PARAMS)
    assert kept["kernel"].all()
    assert kept["bias"].all()
    assert not kept["norm"]["running_mean"].any()
    assert not kept["map"]["constant_projection"].any()


def test_an_update_moves_running_statistics_by_their_step_and_constants_not_at_all():
    updated = {"kernel": 5.0, "running_mean": 6.0, "constant_projection": 7.0}
    before = dict.fromkeys(updated, 1.0)
    after = keep_untrained(updated, before, dict.fromkeys(updated, 0.25))
    assert after == {"kernel": 5.0, "running_mean": 0.75, "constant_projection": 1.0}
    np.testing.assert_equal(keep_untrained(2.0, 1.0, 0.5), 2.0)  # a model of one array


def test_one_name_has_one_kind():
    declare(Kind.UNDECAYED, "bias")
    with pytest.raises(ValueError, match=r"'bias' is declared as UNDECAYED, not CONSTANT"):
        declare(Kind.CONSTANT, "bias")
