"""The check of shapes in tests: of all annotations only those of jaxtyping count.

A NumPy array may stand for one of JAX, and a test may leave out a part that a function never reads.
jaxtyping's own import hook would wrap every function of the rooms, nine in ten of which name no
shape, and bind the arguments of each call three times: a tenth of the time of tracing.
"""

import ast
import sys
from collections.abc import Callable, Sequence
from functools import reduce, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from operator import or_
from types import CodeType, FunctionType, ModuleType
from typing import Any, get_args, get_origin

from jaxtyping import AbstractArray, TypeCheckError, jaxtyped

DECORATOR = "__import__('sys').modules['tests.shape_check'].checked"


def check_shapes(rooms: Sequence[str]) -> None:
    """Check the shapes of the functions in these packages, which are not imported yet."""
    sys.meta_path.insert(0, _Finder(tuple(rooms)))


def checked(function: FunctionType) -> Callable:
    """Return the function with its arguments' and its result's shapes checked, if it names any.

    Letters mean the same sizes within a call. What `*arguments` are is not checked.
    """
    hints = {name: _loose(hint) for name, hint in function.__annotations__.items()}
    hints = {name: hint for name, hint in hints.items() if hint is not None}
    return _wrapped(function, hints) if hints else function


def _wrapped(function: FunctionType, hints: dict[str, Any]) -> Callable:
    result, code = hints.pop("return", None), function.__code__
    positional = code.co_varnames[: code.co_argcount]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with jaxtyped("context"):
            given = {**dict(zip(positional, args)), **kwargs}  # noqa: B905, some are left out
            for name, hint in hints.items():
                if name in given and not _fits(given[name], hint):
                    raise _error(function, name, hint, given)
            found = function(*args, **kwargs)
            if result is not None and not _fits(found, result):
                raise _error(function, "return", result, {**given, "return": found})
            return found

    return call


def _fits(value: Any, hint: Any) -> bool:
    """Return whether an array, or every array in a tuple, has its shape; bind the letters."""
    if get_origin(hint) is not tuple:
        # symbols stand for lengths in a program that is exported
        named = not all(isinstance(size, int) for size in getattr(value, "shape", ()))
        return named or isinstance(value, hint)
    kinds = get_args(hint)
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    pairs = zip(value, kinds, strict=True)
    return all(kind is Any or _fits(item, kind) for item, kind in pairs)


def _error(function: FunctionType, name: str, hint: Any, given: dict[str, Any]) -> TypeCheckError:
    kinds = {
        key: f"{value.dtype}{list(value.shape)}"
        if hasattr(value, "shape")
        else type(value).__name__
        for key, value in given.items()
    }
    wanted = hint if get_args(hint) else hint.__name__
    return TypeCheckError(
        f"{function.__module__}.{function.__qualname__}: {name} is no {wanted} among {kinds}"
    )


def _loose(hint: Any) -> Any:
    """Return the shapes of any class of arrays, also within a tuple; None: there is no shape."""
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return hint.dtype[Any, hint.dim_str]
    kinds = [(kind, _loose(kind)) for kind in get_args(hint)]
    if all(loose is None for _, loose in kinds):
        return None
    if get_origin(hint) is tuple:
        items = (kind if kind is Ellipsis else loose or Any for kind, loose in kinds)
        return tuple[*items]
    return reduce(or_, (loose or kind for kind, loose in kinds))


class _Finder(MetaPathFinder):
    """Finds the modules of the rooms as Python does, and has them loaded with checks."""

    def __init__(self, rooms: tuple[str, ...]) -> None:
        self.rooms = rooms

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not f"{fullname}.".startswith(tuple(f"{room}." for room in self.rooms)):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Decorates every function with `checked`; the bytecode is not cached."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path), path)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                decorator = ast.parse(DECORATOR, mode="eval").body
                node.decorator_list.append(ast.copy_location(decorator, node))  # the innermost
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
