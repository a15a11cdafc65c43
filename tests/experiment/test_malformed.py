"""Malformed values in every field of an experiment file: one sentence each, or they are valid."""

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attnjax.config.walk import field_names, is_part
from attnjax.evaluation.training_cost import TrainingCost
from attnjax.experiment.load import load
from attnjax.lab.cli.main import main
from attnjax.lab.sweeps.costs import Costs

TINY = Path(__file__).parents[1] / "tiny.py"
ABLATION = load(TINY).ablation
MALFORMED = ("x", b"x", True, (), ("x",), {}, len, int, object(), None, 2.5, 0, -1, nan, inf, -inf)
HUGE = (2**31 - 1, 10**30, -(10**30), 10**5000, 1e300)

FILE = """
import sys


ablation = sys.modules["malformed"].ablation()
"""

type Step = str | int


def ways(value: Any, way: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The way to each field, item of a tuple and value of a mapping below a part."""
    below: Mapping[Step, Any] = {}
    if is_part(value):
        below = {name: getattr(value, name) for name in field_names(type(value))}
    elif isinstance(value, tuple):
        below = dict(enumerate(value))
    elif isinstance(value, Mapping):
        below = value
    for step, item in below.items():
        yield (*way, step)
        yield from ways(item, (*way, step))


def rebuilt(value: Any, way: tuple[Step, ...], new: Any) -> Any:
    """A tree of parts, made anew with another value at the end of the way."""
    if not way:
        return new
    step, *rest = way
    if is_part(value):
        assert isinstance(step, str)
        return dataclasses.replace(value, **{step: rebuilt(getattr(value, step), rest, new)})
    if isinstance(value, tuple):
        return tuple(
            rebuilt(item, rest, new) if index == step else item for index, item in enumerate(value)
        )
    return {**value, step: rebuilt(value[step], rest, new)}


def in_a_variant(way: tuple[Step, ...]) -> bool:
    """Whether a way leads into a variant: it is an experiment, as the base is."""
    return "variants" in way and len(way) > way.index("variants") + 2


FREE = TrainingCost(steps=0, flops=0, shape=(0, 0, 0), tokens=0.0, examples=())
WAYS = [way for way in ways(ABLATION) if not in_a_variant(way)]


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=[pytest.mark.long] * (index % 6 > 0))
        for index, way in enumerate(WAYS)
    ],
    ids=[".".join(map(str, way)) for way in WAYS],
)
def test_a_malformed_value_is_one_sentence_or_is_valid(way, capsys, monkeypatch, tmp_path):
    """`attnjax show` loads the file, the corpus, and resolves; what it costs is left out."""
    monkeypatch.setattr("attnjax.lab.sweeps.costs.costs", lambda *_: Costs(0, FREE))
    path = tmp_path / "malformed.py"
    refused = 0
    for number, value in enumerate((*MALFORMED, *HUGE)):
        made = SimpleNamespace(ablation=partial(rebuilt, ABLATION, way, value))
        monkeypatch.setitem(sys.modules, "malformed", made)
        # the same text would be the same module
        path.write_text(f"# {way}, value {number}\n{FILE}")
        code = main(["show", str(path)])
        said = capsys.readouterr().err
        assert code in (0, 2), value
        if code == 2:
            refused += 1
            assert said.startswith("attnjax: "), value
            assert said.count("\n") == 1, said
            assert "failed: " not in said, said
            assert len(said) < 500
    assert refused >= 10, "hardly anything is refused"
