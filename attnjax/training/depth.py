"""The longest chain of operations in a computation, counted before compilation."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal  # pyright: ignore[reportPrivateImportUsage]


def sequential_operations(function: Callable[..., Any], *arguments: Any) -> int:
    """The number of operations that must follow one another, whatever runs beside them.

    An operation is an equation of the jaxpr, a matrix product as well as a sum. Equations that do
    not need each other's results count once. A loop is followed through all its steps, so that only
    what one step hands to the next adds up; of branches the longest counts.

    Args:
        function: what is counted.
        arguments: arrays, or their shapes.

    Raises:
        ValueError: it has a loop whose number of steps is not known before it runs.
    """
    jaxpr = jax.make_jaxpr(function)(*arguments).jaxpr
    return max(_depths(jaxpr, [0] * len(jaxpr.invars)), default=0)


def _depths(jaxpr: Any, given: Sequence[int]) -> list[int]:
    """The length of the longest chain that ends in each output, from those that end in inputs."""
    known = dict(zip(jaxpr.invars, given, strict=True))

    def depth(variable: Any) -> int:
        return 0 if isinstance(variable, Literal) else known.get(variable, 0)

    for equation in jaxpr.eqns:
        found = _after(equation, [depth(variable) for variable in equation.invars])
        known.update(zip(equation.outvars, found, strict=True))
    return [depth(variable) for variable in jaxpr.outvars]


def _after(equation: Any, given: list[int]) -> list[int]:
    """The chains that end in an equation's outputs, from those that end in its inputs."""
    name, parameters = equation.primitive.name, equation.params
    if name == "scan":
        return _scan(parameters, given)
    if name == "while":
        raise ValueError("the steps of a while loop cannot be counted before it runs")
    if name == "cond":
        which, *operands = given
        branches = [_depths(branch.jaxpr, operands) for branch in parameters["branches"]]
        return [max(which, *ends) + 1 for ends in zip(*branches, strict=True)]
    inner = _inner(parameters)
    if inner is not None and len(inner.invars) == len(given):
        return _depths(inner, given)
    return [max(given, default=0) + 1] * len(equation.outvars)


def _scan(parameters: Any, given: list[int]) -> list[int]:
    """The chains through all steps of a loop: carries grow step by step, stacked results do not."""
    consts, carries = parameters["num_consts"], parameters["num_carry"]
    fixed, carry, read = given[:consts], given[consts : consts + carries], given[consts + carries :]
    stacked: list[int] = []
    for _ in range(parameters["length"]):
        found = _depths(parameters["jaxpr"].jaxpr, [*fixed, *carry, *read])
        carry = found[:carries]
        stacked = [max(pair) for pair in zip(stacked or found[carries:], found[carries:], strict=True)]
    return [*carry, *(stacked or [0] * (len(parameters["jaxpr"].jaxpr.outvars) - carries))]


def _inner(parameters: Any) -> Any:
    """The program that an equation calls; None: it is an operation of its own."""
    for value in parameters.values():
        if isinstance(value, ClosedJaxpr):
            return value.jaxpr
        if isinstance(value, Jaxpr):
            return value
    return None
