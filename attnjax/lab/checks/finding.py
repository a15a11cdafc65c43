"""Findings: whether a part has a property.

Results are compared by NumPy: in JAX every operation would be a program of its own, in every shape.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from attnjax.errors import UserError, first_line


class Finding(NamedTuple):
    """A property of a part, its problem (None: it holds), and the error that the part raised."""

    property: str
    problem: str | None
    error: Exception | None = None


type Problems = Iterator[str | None]
"""The problems of a property as sentences, in turn; None: no problem so far."""


def findings[T](
    start: Callable[[], T], properties: Mapping[str, Callable[[T], Problems]]
) -> list[Finding]:
    """Return the first problem of each property of what `start` returns, or the error it raises."""
    try:
        subject = start()
    except Exception as error:  # the part is a user's, and may raise anything
        return [error_finding("can be called", error)]

    def first(problems: Callable[[T], Problems]) -> str | None:
        return next(filter(None, problems(subject)), None)

    return [try_property(name, partial(first, problems)) for name, problems in properties.items()]


def try_property(name: str, problem: Callable[[], str | None]) -> Finding:
    """Try a property: its finding has the result of `problem`, or the error that it raises."""
    try:
        return Finding(name, problem())
    except Exception as error:
        return error_finding(name, error)


def error_finding(name: str, error: Exception) -> Finding:
    """Return the finding for a part that raises an error."""
    kind = "" if isinstance(error, UserError) else type(error).__name__
    return Finding(name, ": ".join(filter(None, (kind, first_line(error)))), error)


def not_zero(what: str, array: ArrayLike) -> str | None:
    """Return a sentence if an array is not all zeros, else None."""
    wide = np.asarray(array)
    if not np.isfinite(wide).all():
        return f"{what} is not finite"
    largest = float(np.abs(wide).astype(np.float32).max(initial=0.0))
    return f"{what} is not 0 but up to {largest:.2g}" if largest else None


@np.errstate(over="ignore", invalid="ignore")
def not_equal(what: str, first: ArrayLike, second: ArrayLike) -> str | None:
    """Return a sentence if two arrays differ by more than rounding, else None."""
    wide = [np.asarray(array).astype(np.float32) for array in (first, second)]
    if np.allclose(*wide, rtol=1e-4, atol=1e-4):
        return None
    return f"{what} differs by up to {float(np.abs(wide[0] - wide[1]).max()):.2g}"


@np.errstate(over="ignore", invalid="ignore")
def not_alike(what: str, narrow: ArrayLike, wide: ArrayLike) -> str | None:
    """Return a sentence if numbers differ by a tenth from those of a wider dtype, else None.

    The tenth is of the largest number; rounding alone costs a hundredth of it.
    """
    wide = np.asarray(wide)
    difference = float(np.abs(np.asarray(narrow).astype(wide.dtype) - wide).max())
    if difference <= 0.1 * float(np.abs(wide).max()):
        return None
    return f"{what} differs from that in {wide.dtype} by up to {difference:.2g}"


def not_finite(what: str, tree: Any) -> str | None:
    """Return a sentence if an array has an infinity or NaN, else None."""
    finite = all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(tree))
    return None if finite else f"{what} is not finite"


@np.errstate(over="ignore", invalid="ignore")
def cast(tree: Any, dtype: Any) -> Any:
    """Return NumPy's arrays of a tree, its floats, but not its integers, in a dtype."""

    def convert(leaf: ArrayLike) -> np.ndarray:
        array = np.asarray(leaf)
        return array.astype(dtype) if jnp.issubdtype(array.dtype, jnp.floating) else array

    return jax.tree.map(convert, tree)
