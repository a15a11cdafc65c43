"""The longest chain of operations in a computation, counted before compilation."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import (  # pyright: ignore[reportPrivateImportUsage]
    Literal,
    jaxprs_in_params,
)


def sequential_operations(function: Callable[..., Any], *arguments: Any) -> int:
    """Return the length of the longest chain of operations, each of which needs the one before.

    An operation is an equation of the jaxpr, a matrix product as well as a sum. Equations that do
    not need each other's results count once. A loop is followed through all its steps, so that only
    what one step passes to the next adds up; of branches the longest counts. Arguments are arrays,
    or their shapes.

    Raises:
        ValueError: the number of steps of a loop is not known before it runs.
    """
    jaxpr = jax.make_jaxpr(function)(*arguments).jaxpr
    return max(_depths(jaxpr, [0] * len(jaxpr.invars)), default=0)


def _depths(jaxpr: Any, given: Sequence[int]) -> list[int]:
    """Return the length of the longest chain to each output, given those to the inputs."""
    known = dict(zip(jaxpr.invars, given, strict=True))

    def depth(variable: Any) -> int:
        return 0 if isinstance(variable, Literal) else known.get(variable, 0)

    for equation in jaxpr.eqns:
        outputs = _after(equation, [depth(variable) for variable in equation.invars])
        known.update(zip(equation.outvars, outputs, strict=True))
    return [depth(variable) for variable in jaxpr.outvars]


def _after(equation: Any, given: list[int]) -> list[int]:
    """Return the chains to an equation's outputs, given those to its inputs."""
    name, parameters = equation.primitive.name, equation.params
    if name == "scan":
        return _scan(equation, given)
    if name == "while":
        raise ValueError("the steps of a while loop cannot be counted before it runs")
    if name == "cond":
        which, *operands = given
        branches = [_depths(program, operands) for program in parameters["branches"]]
        return [max(which, *ends) + 1 for ends in zip(*branches, strict=True)]
    for inner in jaxprs_in_params(parameters):
        if len(inner.invars) == len(given):
            return _depths(inner, given)
    return [max(given, default=0) + 1] * len(equation.outvars)


def _scan(equation: Any, given: list[int]) -> list[int]:
    """Follow chains through all steps of a loop: they grow in carries, not in stacked results."""
    body = equation.params["jaxpr"]
    # inputs and stacked results have an axis of steps; carries have none
    carries = len(equation.outvars) - _with_steps(equation.outvars, body.outvars)
    read = _with_steps(equation.invars, body.invars)
    fixed = len(given) - carries - read
    carry, stacked = given[fixed : fixed + carries], []
    for _ in range(equation.params["length"]):
        outputs = _depths(body, [*given[:fixed], *carry, *given[fixed + carries :]])
        carry = outputs[:carries]
        stacked = [*map(max, stacked or outputs[carries:], outputs[carries:])]
    return [*carry, *stacked]


def _with_steps(outside: Sequence[Any], inside: Sequence[Any]) -> int:
    """Count the variables with one axis more outside a loop than inside."""
    pairs = zip(outside, inside, strict=True)
    return sum(outer.aval.ndim > inner.aval.ndim for outer, inner in pairs)


def longest_loop(function: Callable[..., Any], *arguments: Any) -> int:
    """Return the most steps of a loop, nested loops multiplied; 1 without loops."""
    return _steps(jax.make_jaxpr(function)(*arguments).jaxpr)


def _steps(jaxpr: Any) -> int:
    return max((_steps_of(equation) for equation in jaxpr.eqns), default=1)


def _steps_of(equation: Any) -> int:
    inside = max(map(_steps, jaxprs_in_params(equation.params)), default=1)
    return inside * equation.params["length"] if equation.primitive.name == "scan" else inside
