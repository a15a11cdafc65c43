from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf, nan
from typing import Annotated, Literal

import pytest
from annotated_types import Interval, Le, MinLen, MultipleOf, Predicate

from attnjax.config.constraints import (
    DropoutRate,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Probability,
    SetByOwner,
    check_fields,
    check_value,
    describe,
)
from attnjax.config.vary import vary
from attnjax.data.generated.sequences import Copy
from attnjax.errors import UserError
from attnjax.experiment import Experiment
from attnjax.models.transformer import Transformer
from attnjax.training.optimizers import Optimizer

HUGE = 10**30


@pytest.mark.parametrize(
    ("hint", "allowed", "refused"),
    [
        (PositiveInt, [1, 2**31 - 1], [0, -1, 1.0, True, "1", None, 2**31, HUGE]),
        (NonNegativeInt, [0, 1], [-1, 0.0, -HUGE]),
        (int, [0, -5], [nan, False, HUGE]),
        (PositiveFloat, [0.1, 1], [0.0, -1.0, inf, nan, True, "1", HUGE]),
        (NonNegativeFloat, [0.0, 0], [-0.1, inf, nan]),
        (float, [inf, -inf, 0], [nan, None, HUGE]),
        (Probability, [0, 1, 0.5], [-0.1, 1.1, nan]),
        (DropoutRate, [0, 0.99], [1.0, -0.1, nan]),
        (PositiveInt | None, [1, None], [0, "none"]),
        (Annotated[PositiveInt, Le(3)] | None, [3, None], [4, 0]),
        (Annotated[int | None, Interval(ge=2, lt=5)], [2, 4, None], [1, 5]),
        (Annotated[int, MultipleOf(8)], [0, 16], [4]),
        (Annotated[float, Predicate(float.is_integer)], [2.0], [2.5]),
        (Annotated[tuple[int, ...], MinLen(1)], [(1,)], [(), [1]]),
        (Annotated[int | None, SetByOwner()], [None], [3]),
        (Literal["mesh", 2], ["mesh", 2], ["gpu", 2.0, True]),
        (tuple[str, PositiveInt], [("a", 1)], [("a",), ("a", 0), (1, 1), ["a", 1]]),
        (Mapping[str, PositiveInt], [{}, {"a": 1}], [{"a": 0}, {1: 1}, 3]),
    ],
    ids=str,
)
def test_what_an_annotation_allows(hint, allowed, refused):
    for value in allowed:
        check_value(hint, value, "path")
    for value in refused:
        with pytest.raises(UserError, match=r"^path.*: wanted .*; got ") as error:
            check_value(hint, value, "path")
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (PositiveInt | None, "int above 0 or None"),
        (PositiveFloat, "float above 0 and finite"),
        (DropoutRate, "float at least 0 and below 1"),
        (Literal["mesh", "pmap"], "mesh or pmap"),
        (tuple[PositiveInt, ...], "tuple of int above 0"),
        (tuple[str, float], "tuple of str, float"),
        (Mapping[str, int], "mapping of str to int"),
        (Annotated[PositiveInt | None, SetByOwner()], "None (the part around it sets the value)"),
    ],
    ids=str,
)
def test_an_annotation_in_words(hint, words):
    assert describe(hint) == words


def test_a_number_with_more_digits_than_python_prints():
    with pytest.raises(UserError, match="got an int of 16610 bits"):
        check_value(int, 10**5000, "path")


@dataclass(frozen=True, kw_only=True)
class Inner:
    size: PositiveInt = 1


@dataclass(frozen=True, kw_only=True)
class Outer:
    inner: Inner = Inner()
    several: tuple[Inner, ...] = ()
    named: Mapping[str, Inner] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("part", "path"),
    [
        (Outer(inner=Inner(size=0)), "Outer.inner.size"),
        (Outer(several=(Inner(), Inner(size=0))), "Outer.several[1].size"),
        (Outer(named={"one": Inner(size=0)}), "Outer.named['one'].size"),
    ],
)
def test_the_path_leads_to_the_value_at_any_depth(part, path):
    with pytest.raises(UserError) as error:
        check_fields(part)
    assert str(error.value) == f"{path}: wanted int above 0; got int 0"


@dataclass(frozen=True, kw_only=True)
class Weighted(Optimizer):
    """A user's own, whose decay may be 0, unlike a schedule's."""

    decay: NonNegativeFloat = 0.0

    def scaling(self):
        raise AssertionError("is not made here")


def test_a_users_part_inherits_constraints_and_states_its_own():
    base = Experiment(task=Copy(), model=Transformer(), optimizer=Weighted(decay=0.0))
    assert vary(base, {"optimizer.decay": 0.5}).optimizer == Weighted(decay=0.5)
    with pytest.raises(UserError, match="optimizer.clip: wanted float above 0 and finite or None"):
        vary(base, {"optimizer.clip": 0.0})
    with pytest.raises(UserError, match=r"Experiment\.optimizer\.decay: wanted float at least 0"):
        Experiment(task=Copy(), model=Transformer(), optimizer=Weighted(decay=-1.0))


def test_an_annotation_that_cannot_be_read_is_one_sentence():
    @dataclass(frozen=True)
    class Wrong:
        size: "Nothing" = 0  # type: ignore  # noqa: F821

    with pytest.raises(UserError, match="an annotation of Wrong cannot be read: name 'Nothing'"):
        check_fields(Wrong())
