"""Findings: whether a part has a property."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

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


def not_zero(what: str, array: jax.Array) -> str | None:
    """Return a sentence if an array is not all zeros, else None."""
    if not jnp.isfinite(array).all():
        return f"{what} is not finite"
    largest = float(jnp.abs(array).max(initial=0.0))
    return f"{what} is not 0 but up to {largest:.2g}" if largest else None


def not_equal(what: str, first: jax.Array, second: jax.Array) -> str | None:
    """Return a sentence if two arrays differ by more than rounding, else None."""
    wide = [jnp.asarray(array, jnp.float32) for array in (first, second)]
    if jnp.allclose(*wide, rtol=1e-4, atol=1e-4):
        return None
    return f"{what} differs by up to {float(jnp.abs(wide[0] - wide[1]).max()):.2g}"


def not_alike(what: str, narrow: jax.Array, wide: jax.Array) -> str | None:
    """Return a sentence if numbers differ by a tenth from those of a wider dtype, else None.

    The tenth is of the largest number; rounding alone costs a hundredth of it.
    """
    difference = float(jnp.abs(narrow.astype(wide.dtype) - wide).max())
    if difference <= 0.1 * float(jnp.abs(wide).max()):
        return None
    return f"{what} differs from that in {wide.dtype} by up to {difference:.2g}"


def not_finite(what: str, tree: Any) -> str | None:
    """Return a sentence if an array has an infinity or NaN, else None."""
    finite = all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(tree))
    return None if finite else f"{what} is not finite"


def cast(tree: Any, dtype: Any) -> Any:
    """Convert the floats of a tree, but not its integers, to a dtype."""

    def convert(leaf: jax.Array) -> jax.Array:
        return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(convert, tree)
