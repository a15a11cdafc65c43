"""Floating-point operations of a computation: its matrix products, counted before compilation."""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params  # pyright: ignore[reportPrivateImportUsage]

from attnjax.data.batch_plan import Batch, PackedBatch
from attnjax.training.settings import Recipe
from attnjax.training.step import State, on_one_device, train_step

type AnyBatch = Batch | PackedBatch


def product_flops(function: Callable[..., Any], *arguments: Any) -> int:
    """Count floating-point operations of all products and convolutions, 2 per multiplication.

    Products are matrix products. The body of a loop counts once for each step, that of a Pallas
    kernel once for each point of its grid; of several branches only the costliest counts. Products
    that the compiler would remove count, everything else is left out, as in papers. Arguments are
    arrays, or their shapes.
    """
    return jaxpr_flops(jax.make_jaxpr(function)(*arguments).jaxpr)


def update_flops(recipe: Recipe, state: State, batch: AnyBatch) -> int:
    """Return the `product_flops` of a training step; arrays may be shapes, nothing is allocated."""
    step = partial(train_step, recipe=recipe, over_devices=on_one_device)
    return product_flops(step, state, batch)


def jaxpr_flops(jaxpr: Any) -> int:
    """Return the `product_flops` of a computation that is traced already."""
    return total(jaxpr, _product)


def total(jaxpr: Any, amount: Callable[[Any], int | None]) -> int:
    """Sum an amount over all equations of a jaxpr, as often as they run.

    Where the amount is None, that of the programs inside the equation counts.
    """
    return sum(_of(equation, amount) for equation in jaxpr.eqns)


def _of(equation: Any, amount: Callable[[Any], int | None]) -> int:
    own = amount(equation)
    if own is not None:
        return own
    name, parameters = equation.primitive.name, equation.params
    inside = [total(jaxpr, amount) for jaxpr in jaxprs_in_params(parameters)]
    if name == "cond":
        return max(inside)
    if name == "pallas_call":
        return sum(inside) * prod(parameters["grid_mapping"].grid)
    return sum(inside) * (parameters["length"] if name == "scan" else 1)


def _product(equation: Any) -> int | None:
    """Return the operations of a matrix product or convolution; None for other equations."""
    name, parameters = equation.primitive.name, equation.params
    if name == "dot_general":
        (summed, _), _ = parameters["dimension_numbers"]
        left = equation.invars[0].aval.shape
        return 2 * prod(equation.outvars[0].aval.shape) * prod(left[axis] for axis in summed)
    if name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        out_features = parameters["dimension_numbers"].rhs_spec[0]
        return 2 * prod(equation.outvars[0].aval.shape) * prod(kernel) // kernel[out_features]
    return None
