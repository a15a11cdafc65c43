"""Noise on parameters: a part that begins as if it were not there may have learnt a mistake."""

import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.lab.checks.finding import Problems
from attnjax.nn.lift import PARAMETERS
from attnjax.nn.parameter_kinds import Kind, map_by_kind

NOISE = 0.5
"""The standard deviation of the noise on parameters that are moved."""

MOVED_PARAMETERS = "once its parameters have moved"


def noisy(variables: Any, deviation: Any) -> Any:
    """Add seeded normal noise to all parameters that training changes; deviation may be traced."""
    if PARAMETERS not in variables:
        return variables

    def move(kind: Kind, leaf: Any, seed: int) -> Any:
        if not kind.trained or not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        noise = np.random.default_rng(seed).normal(size=leaf.shape)
        return (leaf + deviation * noise).astype(leaf.dtype)

    params = variables[PARAMETERS]
    # by its path, so that a parameter's noise does not depend on what else there is
    seeds = jax.tree.map_with_path(
        lambda path, leaf: zlib.crc32(jax.tree_util.keystr(path).encode()), params
    )
    return {**variables, PARAMETERS: map_by_kind(move, params, seeds)}


def are_moved_by_noise(variables: Any) -> bool:
    """Return whether there is a parameter that training changes."""
    trained = map_by_kind(lambda kind, leaf: kind.trained, variables.get(PARAMETERS, {}))
    return any(jax.tree.leaves(trained))


def said_of_moved(problems: Problems) -> Problems:
    """Say of each problem that it is one of parameters that noise has moved."""
    for problem in problems:
        yield problem and f"{problem}, {MOVED_PARAMETERS}"
