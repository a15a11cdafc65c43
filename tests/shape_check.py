"""The check of shapes in tests: of all annotations only those of jaxtyping count.

A NumPy array may stand for one of JAX, and a test may leave out a part that a function never reads.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_
from types import FunctionType
from typing import Any, get_args, get_origin

from beartype import beartype
from jaxtyping import AbstractArray


def shapes_only(function: Callable) -> Callable:
    """The function with its arguments' and its result's shapes checked."""
    if not isinstance(function, FunctionType):
        return function
    hints = {name: _loose(hint) for name, hint in function.__annotations__.items()}
    function.__annotations__ = {name: hint for name, hint in hints.items() if hint is not None}
    return beartype(function) if function.__annotations__ else function


def _loose(hint: Any) -> Any:
    """The same shapes of any class of arrays, also within a tuple; None: there is no shape."""
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return hint.dtype[Any, hint.dim_str]
    kinds = [(kind, _loose(kind)) for kind in get_args(hint)]
    if all(loose is None for _, loose in kinds):
        return None
    if get_origin(hint) is tuple:
        items = (kind if kind is Ellipsis else loose or Any for kind, loose in kinds)
        return tuple[*items]
    return reduce(or_, (loose or kind for kind, loose in kinds))
