"""Parts are found by name, and a name that two parts have is refused."""

from dataclasses import dataclass

import pytest

from attnjax.config.parts import part, parts
from attnjax.errors import UserError


@dataclass(frozen=True)
class Shape:
    """A shape.

    Its subclasses get the modules of a part of attnjax and of a user's part.
    """


def subclass(name: str, module: str) -> type[Shape]:
    return dataclass(frozen=True)(type(name, (Shape,), {"__module__": module}))


SHIPPED = subclass("Circle", "attnjax.shapes")
OWN = [subclass(name, "experiment_of_somebody") for name in ("Circle", "RoundedBox")]


def test_parts_are_named_in_kebab_case():
    assert set(parts(Shape | None)) == {"shape", "circle", "rounded-box", "none"}
    assert part(Shape, "rounded-box", "model.shape") is OWN[1]
    assert part(Shape | None, "none", "model.shape") is None
    with pytest.raises(UserError, match="^unknown part for model.shape: 'rounded-bx'; did you"):
        part(Shape, "rounded-bx", "model.shape")


def test_an_own_part_with_the_name_of_a_shipped_one_is_refused():
    with pytest.raises(UserError) as refused:
        part(Shape, "circle", "model.shape")
    assert str(refused.value) == (
        "model.shape:circle is ambiguous: attnjax.shapes.Circle and a class of your own are both "
        "named Circle; rename your own"
    )
