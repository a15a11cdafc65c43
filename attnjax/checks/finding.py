"""Findings: whether a part has a property."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from attnjax.errors import UserError, first_line


class Finding(NamedTuple):
    """What is wrong with a part's property (None: nothing), and the error that the part raised."""

    property: str
    problem: str | None
    error: Exception | None = None


type Problems = Iterator[str | None]
"""Sentences on what is wrong with a property, one after the other; None: all is well so far."""


def findings[T](
    start: Callable[[], T], properties: Mapping[str, Callable[[T], Problems]]
) -> list[Finding]:
    """The first problem of each property of what `start` gives, or the error that it raises."""
    try:
        subject = start()
    except Exception as error:  # the part is a user's: whatever it raises is what is found
        return [raised("can be called", error)]

    def first(problems: Callable[[T], Problems]) -> str | None:
        return next(filter(None, problems(subject)), None)

    return [tried(name, partial(first, problems)) for name, problems in properties.items()]


def tried(name: str, problem: Callable[[], str | None]) -> Finding:
    """The finding of a property: the result of `problem`, or the error that it raises."""
    try:
        return Finding(name, problem())
    except Exception as error:
        return raised(name, error)


def raised(name: str, error: Exception) -> Finding:
    """The finding for a part that raises an error."""
    kind = "" if isinstance(error, UserError) else type(error).__name__
    return Finding(name, ": ".join(filter(None, (kind, first_line(error)))), error)


def not_zero(what: str, array: jax.Array) -> str | None:
    """A sentence if an array is not all zeros; None: it is."""
    if not jnp.isfinite(array).all():
        return f"{what} is not finite"
    largest = float(jnp.abs(array).max(initial=0.0))
    return f"{what} is not 0 but up to {largest:.2g}" if largest else None


def not_equal(what: str, first: jax.Array, second: jax.Array) -> str | None:
    """A sentence if two arrays differ by more than rounding; None: they do not."""
    wide = [jnp.asarray(array, jnp.float32) for array in (first, second)]
    if jnp.allclose(*wide, rtol=1e-4, atol=1e-4):
        return None
    return f"{what} differs by up to {float(jnp.abs(wide[0] - wide[1]).max()):.2g}"


def not_alike(what: str, narrow: jax.Array, wide: jax.Array) -> str | None:
    """A sentence if numbers differ by a tenth from those of a wider dtype; None: they do not.

    The tenth is of the largest number; rounding alone costs a hundredth of it.
    """
    difference = float(jnp.abs(narrow.astype(wide.dtype) - wide).max())
    if difference <= 0.1 * float(jnp.abs(wide).max()):
        return None
    return f"{what} differs from that in {wide.dtype} by up to {difference:.2g}"


def not_finite(what: str, tree: Any) -> str | None:
    """A sentence if an array has an infinity or NaN; None: all numbers are finite."""
    finite = all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(tree))
    return None if finite else f"{what} is not finite"


def cast(tree: Any, dtype: Any) -> Any:
    """The tree with its floats, but not its integers, in a dtype."""

    def convert(leaf: jax.Array) -> jax.Array:
        return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(convert, tree)
