"""Types and constraints of fields, taken from their annotations and checked in a tree of parts.

A constraint is part of a field's annotation, `steps: Annotated[int, Gt(0)]`, and is inherited with
the field. The library `annotated_types` has the constraints; the aliases below are common ones.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf, isnan
from operator import ge, gt, le, lt
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAliasType, Union, get_args, get_origin

from annotated_types import Ge, GroupedMetadata, Gt, Le, Lt, MaxLen, MinLen, MultipleOf, Predicate

from attnjax.config.walk import field_types, is_part
from attnjax.errors import UserError

type PositiveInt = Annotated[int, Gt(0)]
type NonNegativeInt = Annotated[int, Ge(0)]
type PositiveFloat = Annotated[float, Gt(0), Lt(inf)]
type NonNegativeFloat = Annotated[float, Ge(0), Lt(inf)]
type Probability = Annotated[float, Ge(0), Le(1)]
type DropoutRate = Annotated[float, Ge(0), Lt(1)]


@dataclass(frozen=True)
class SetByOwner:
    """Marks a field that is None in an experiment: the part around it sets the value."""


LARGEST = 2**31 - 1
"""The largest absolute value of a whole number in a field: arrays hold int32."""


KINDS: dict[type, tuple[str, Callable[[Any, Any], Any], str]] = {
    Gt: ("gt", gt, "above {}"),
    Ge: ("ge", ge, "at least {}"),
    Lt: ("lt", lt, "below {}"),
    Le: ("le", le, "at most {}"),
    MultipleOf: ("multiple_of", lambda x, n: x % n == 0, "a multiple of {}"),
    MinLen: ("min_length", lambda x, n: len(x) >= n, "of at least {}"),
    MaxLen: ("max_length", lambda x, n: len(x) <= n, "of at most {}"),
    Predicate: ("func", lambda x, holds: holds(x), "for which {} is true"),
}
"""Of each kind of constraint: the name of its bound, whether a value holds it, and its words."""


EXACT = (str, bool, NoneType)
"""Types whose values all fit an annotation that names the type without constraints."""


class Alternative(NamedTuple):
    """One of the types that an annotation allows, with its constraints."""

    kind: Any
    constraints: tuple[Any, ...] = ()


def check_fields(part: Any, path: str = "") -> None:
    """Refuse the part at `path` if the value of a field, at any depth, does not fit its annotation.

    Raises:
        UserError: the first such field, the wanted type and the value.
    """
    for name, hint in field_types(type(part)).items():
        check_value(hint, getattr(part, name), f"{path or type(part).__name__}.{name}")


def check_value(hint: Any, value: Any, path: str) -> None:
    """Refuse a value that an annotation does not allow, at any depth."""
    if type(value) in EXACT and Alternative(type(value)) in alternatives(hint):
        return
    kinds = (
        kind
        for kind, constraints in alternatives(hint)
        if _is_of(kind, value) and all(_fulfills(constraint, value) for constraint in constraints)
    )
    allowed = next(kinds, None)
    if allowed is None:
        raise UserError(f"{path}: wanted {describe(hint)}; got {shown(value)}")
    for below, item_hint, item in _items(allowed, value):
        check_value(item_hint, item, f"{path}{below}")
    if is_part(value):
        check_fields(value, path)


def allows(hint: Any, value: Any) -> bool:
    """Return whether an annotation allows a value, at any depth."""
    try:
        check_value(hint, value, "")
    except UserError:
        return False
    return True


def alternatives(hint: Any) -> tuple[Alternative, ...]:
    """Return the types that an annotation is the union of."""
    try:
        return _alternatives(hint)
    except TypeError:  # the annotation has something without a hash, which no cache takes
        return _alternatives.__wrapped__(hint)


@cache
def _alternatives(hint: Any) -> tuple[Alternative, ...]:
    if isinstance(hint, TypeAliasType):
        return alternatives(hint.__value__)
    if get_origin(hint) in (Union, UnionType):
        return tuple(choice for member in get_args(hint) for choice in alternatives(member))
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        constraints = tuple(_flat(metadata))
        if SetByOwner() in constraints:
            return (Alternative(NoneType, constraints),)
        # constraints are about numbers, not about None
        return tuple(
            Alternative(kind, before if kind is NoneType else before + constraints)
            for kind, before in alternatives(inner)
        )
    return (Alternative(NoneType if hint is None else hint),)


def _flat(metadata: Any) -> Iterator[Any]:
    """Yield the constraints in an annotation's metadata; an interval becomes its two bounds."""
    for item in metadata:
        yield from _flat(item) if isinstance(item, GroupedMetadata) else (item,)


def _is_of(kind: Any, value: Any) -> bool:
    """Return whether a value has a type. An int passes as a float; a bool passes as neither."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return any(value == word and type(value) is type(word) for word in arguments)
    if isinstance(value, bool):
        return kind in (bool, object)
    if kind in (int, float) and isinstance(value, int):
        return abs(value) <= LARGEST
    if kind is float:
        return isinstance(value, float) and not isnan(value)
    if origin is tuple and isinstance(value, tuple):
        return arguments[1:] == (...,) or len(value) == len(arguments)
    return isinstance(value, origin or kind)


def item_hints(kind: Any, count: int) -> tuple[Any, ...]:
    """Return the annotation of each item of a tuple with `count` items."""
    arguments = get_args(kind)
    return arguments[:1] * count if arguments[1:] == (...,) else arguments


def _items(kind: Any, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the items of a tuple or mapping: the path, annotation and value of each."""
    arguments = get_args(kind)
    if isinstance(value, tuple) and arguments:
        hints = item_hints(kind, len(value))
        for index, (hint, item) in enumerate(zip(hints, value, strict=True)):
            yield f"[{index}]", hint, item
    elif isinstance(value, Mapping) and arguments:
        for key, item in value.items():
            yield f"[{key!r}]", arguments[0], key
            yield f"[{key!r}]", arguments[1], item


def _fulfills(constraint: Any, value: Any) -> bool:
    """Return whether a value of the right type fulfills a constraint; other metadata is ignored."""
    if type(constraint) not in KINDS:
        return True
    name, holds, _ = KINDS[type(constraint)]
    return bool(holds(value, getattr(constraint, name)))


def describe(hint: Any) -> str:
    """Put an annotation in words: "int above 0 or None"."""
    words: list[str] = []
    for kind, constraints in alternatives(hint):
        if get_origin(kind) is Literal:
            words += map(str, get_args(kind))
        else:
            words.append(_name(kind) + _words(constraints))
    return " or ".join(dict.fromkeys(words))


def _name(kind: Any) -> str:
    """Put a type in words, without its constraints."""
    if kind is NoneType:
        return "None"
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple and arguments[1:] == (...,):
        return f"tuple of {describe(arguments[0])}"
    if origin is tuple:
        return f"tuple of {', '.join(map(describe, arguments))}"
    if arguments and issubclass(origin, Mapping):
        return f"mapping of {describe(arguments[0])} to {describe(arguments[1])}"
    return getattr(origin or kind, "__name__", str(kind))


def _words(constraints: tuple[Any, ...]) -> str:
    """Put constraints in words, with a leading space; "" without constraints."""
    words = []
    for constraint in constraints:
        if constraint == SetByOwner():
            words.append("(the part around it sets the value)")
        elif constraint == Lt(inf):
            words.append("finite")
        elif type(constraint) in KINDS:
            name, _, form = KINDS[type(constraint)]
            bound = getattr(constraint, name)
            words.append(form.format(getattr(bound, "__name__", bound)))
    return f" {' and '.join(words)}" if words else ""


def shown(value: Any) -> str:
    """Put a value in words: its type and its text, shortened if long."""
    if value is None:
        return "None"
    if is_part(value):
        return type(value).__name__
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"an int of {value.bit_length()} bits (at most 31)"
    written = repr(value)
    return f"{type(value).__name__} {written if len(written) <= 100 else f'{written[:97]}...'}"
