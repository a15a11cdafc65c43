"""`attnjax check` says of each part of a file what it lacks, and where it fails."""

from functools import partial
from pathlib import Path

import pytest

from attnjax.lab.checks import check_attention
from attnjax.lab.cli.main import main
from tests.cli.saying import TINY, sentence

OWN_ALIGN = """

import jax
import jax.numpy as jnp
from attnjax.attention.align.base import Align
from attnjax.attention.state.feature_map import FeatureMap


class Unmasked(Align):
    def __call__(self, logits, mask=None, context=None):
        return jax.nn.softmax(logits)


class Signed(FeatureMap):
    def __call__(self, x):
        return jnp.concatenate([x, -x], -1)
"""

OWN_NORM_AND_MASK = """
from dataclasses import dataclass
import jax
from attnjax.config.vary import vary
from attnjax.experiment import Ablation
from tests.tiny import base
from attnjax.attention.mask import Mask
from attnjax.nn.norm import Norm


class Cancelling(Norm):
    def __call__(self, x, valid=None):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) - mean**2 + 1e-6)


@dataclass(frozen=True)
class Back(Mask):
    def dense(self, positions):
        return positions.key[..., None, :] <= positions.query[..., :, None]


ablation = Ablation(base=base, variants={"own": vary(base, {"model.residual.norm": Cancelling()})})
"""

MISTAKEN = """

from dataclasses import dataclass

from attnjax.evaluation.metric import ExactMatch


class Failing(Score):
    def __call__(self, query, key, positions=None):
        raise RuntimeError("no score today")


class Unmade(Score):
    sharpness: float

    def __call__(self, query, key, positions=None):
        return dot(query, key)


@dataclass(frozen=True, kw_only=True)
class Lenient(ExactMatch):
    pass


def with_score(score, **others):
    return vary(base, {"model.encoder_layer.self_attention.head.score": score, **others})


ablation = Ablation(
    base=base,
    variants={
        "failing": with_score(Failing()),
        "cosine": with_score(Cosine()),
        "again": with_score(Cosine(), **{"model.dropout": 0.2}),
    },
)
"""


@pytest.fixture
def few_properties(monkeypatch):
    """An attention is tried by what this file asks for: tests/checks has each property."""
    few = partial(check_attention, only=("causal", "masks are pytrees"))
    monkeypatch.setattr("attnjax.lab.checks.experiment_file.check_attention", few)


@pytest.mark.long
def test_check_tries_the_parts_of_a_file(capsys, tmp_path):
    assert main(["check", TINY]) == 0
    lines = capsys.readouterr().out.splitlines()
    where = "Cosine (variant cosine, model.encoder_layer.self_attention.head)"
    assert f"{where}: masked rows give zero: ok" in lines
    assert "Cosine (variant cosine, model): step by step equals parallel: ok" in lines
    assert all(line.endswith(": ok") for line in lines)
    path = tmp_path / "mine.py"
    path.write_text(Path(TINY).read_text() + OWN_ALIGN)
    assert main(["check", str(path)]) == 1
    said = capsys.readouterr().out
    assert "Unmasked: causal: the gradient of a later key is not 0 but up to " in said
    assert "Signed: masked rows give zero: ok" in said
    assert "defines no score, align" in sentence(capsys, "check", "luong2015")


@pytest.mark.usefixtures("few_properties")
def test_a_part_that_raises_is_found_and_the_others_are_tried(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(Path(TINY).read_text() + MISTAKEN)
    line = path.read_text().splitlines().index('        raise RuntimeError("no score today")') + 1
    assert main(["check", str(path)]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    failed = f"can be called: {path}, line {line}: RuntimeError: no score today"
    where = "variant failing, model"
    assert f"Failing ({where}.encoder_layer.self_attention.head): {failed}" in lines
    assert f"Failing ({where}): {failed}" in lines
    assert "Cosine (variant cosine, model): causal: ok" in lines
    assert not any("variant again" in line for line in lines), "the same part is tried once"
    assert any(line.startswith("Unmade: can be made of its defaults: TypeError") for line in lines)
    assert last.startswith("not tried: Lenient (")


@pytest.mark.usefixtures("few_properties")
def test_an_own_norm_and_an_own_mask_are_tried(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(OWN_NORM_AND_MASK)  # without the score of tiny, which is tried above
    assert main(["check", str(path)]) == 1
    said = capsys.readouterr().out
    norm = "Cancelling (variant own, model.residual.norm): an offset costs no accuracy: the result"
    assert norm in said
    assert "Back: masks are pytrees: the mask Back is no pytree: decorate it with jax." in said


USED = """

from beside import Unmasked, Wide

ablation = Ablation(
    base=base,
    variants={"wide": vary(base, {"model.encoder_layer.self_attention.head.score": Wide()})},
)
"""

BESIDE = """

from attnjax.attention import Score
from attnjax.attention.align.base import Align
from attnjax.attention.score.base import dot
from attnjax.errors import UserError


class Unmasked(Align):
    def __call__(self, logits, mask=None, context=None):
        return jax.nn.softmax(logits)


class Wide(Score):
    def __call__(self, query, key, positions):
        if query.shape[-1] != 8:
            raise UserError(f"8 features are wanted; got {query.shape[-1]}")
        return dot(query, key)
"""


@pytest.mark.usefixtures("few_properties")
def test_parts_that_a_variant_uses_are_tried_as_it_uses_them(capsys, tmp_path):
    (tmp_path / "beside.py").write_text(BESIDE)
    path = tmp_path / "mine.py"
    path.write_text(Path(TINY).read_text() + USED)
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr()
    where = "Wide (variant wide, model.encoder_layer.self_attention.head)"
    assert f"{where}: causal: ok" in said.out.splitlines()
    assert f"checking {where}" in said.err.splitlines()
    assert "Unmasked" not in said.out + said.err


OWN_RECIPE = """

import jax.numpy as jnp
import numpy as np
from dataclasses import dataclass, replace

from attnjax.evaluation import Metric
from attnjax.training import CrossEntropy, Schedule


@dataclass(frozen=True, kw_only=True)
class Falling(Schedule):
    def rate(self, step):
        return 0.1 - 0.05 * jnp.asarray(step)


@dataclass(frozen=True, kw_only=True)
class Length(Metric):
    name = "length"

    def statistics(self, hypotheses, references):
        return np.asarray([[len(hypotheses), len(text)] for text in hypotheses], float)

    def value(self, totals):
        return float(totals[1])


@dataclass(frozen=True, kw_only=True)
class Mean(CrossEntropy):
    def __call__(self, model, params, state, batch, *, key):
        totals = super().__call__(model, params, state, batch, key=key)
        total, count = totals["loss"]
        return {**totals, "loss": (total / count, jnp.ones_like(count))}


@dataclass(frozen=True, kw_only=True)
class Same(Copy):
    pass


own = vary(base, {"optimizer.schedule": Falling(), "objective": Mean()})
own = replace(own, metric=Length(), task=Same(symbols=6, longest=4, train=48, valid=8, test=8))
ablation = Ablation(base=base, variants={"own": own})
"""


@pytest.mark.usefixtures("few_properties")
def test_tasks_metrics_objectives_and_schedules_are_tried(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(Path(TINY).read_text() + OWN_RECIPE)
    assert main(["check", str(path)]) == 1
    said = capsys.readouterr().out
    assert "Same (variant own, task): gives the same data each time: ok" in said
    assert "Length (variant own, metric): scores right and empty answers: ok" in said
    assert (
        "Length (variant own, metric): sentences are counted apart: a sentence's row diff" in said
    )
    assert "Mean (variant own, objective): loss and gradient are finite: ok" in said
    assert "Mean (variant own, objective): the sums of examples add up: the loss differs" in said
    assert "Falling (variant own, optimizer.schedule): rates are finite: of 6 steps not all" in said
