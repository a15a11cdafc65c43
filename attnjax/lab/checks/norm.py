"""The properties of a norm, tried with vectors far from 0."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.lab.checks.finding import Finding, Problems, cast, findings, not_alike
from attnjax.lab.checks.noise import NOISE, noisy, said_of_moved
from attnjax.nn.norm import Norm

ROWS, WIDTH = 32, 64
OFFSETS = (1e3, 1e4)

type _Called = tuple[Any, Any, np.ndarray]
"""A compiled norm, its variables and vectors [ROWS, WIDTH]."""


def check_norm(norm: Norm) -> list[Finding]:
    """Check the properties that every norm of attnjax has.

    - Of vectors of variance 1 around 1,000 and 10,000 the result in float32 is that in float64.
    - Of vectors of variance 1 around 100 the result in bfloat16 is that in float32.

    Each is tried with the parameters that are drawn, and with noise on them. The norm is for
    vectors of width 64, as it is in training.
    """

    def start() -> _Called:
        key, valid = jax.random.key(0), np.ones(ROWS, bool)
        x = np.asarray(jax.random.normal(key, (ROWS, WIDTH)))
        variables = jax.device_get(jax.jit(norm.init)(key, x, valid))
        # each operation rounds its result to the dtype, also where XLA fuses several
        call: Any = jax.jit(
            lambda variables, x: norm.apply(variables, x, valid),
            compiler_options={"xla_allow_excess_precision": False},
        )
        return call, variables, x

    return findings(
        start,
        {
            "an offset costs no accuracy": _at_both(_offset),
            "the same in half precision": _at_both(_half_precision),
        },
    )


def _at_both(problems: Callable[[_Called], Problems]) -> Callable[[_Called], Problems]:
    """Look at a norm as it is drawn, and then with noise on its parameters."""

    def of_both(called: _Called) -> Problems:
        yield from problems(called)
        call, variables, x = called
        yield from said_of_moved(problems((call, noisy(variables, NOISE), x)))

    return of_both


def _offset(called: _Called) -> Problems:
    """Compare float32 with float64 for vectors far from 0."""
    call, variables, x = called
    for offset in OFFSETS:
        moved = x + offset
        narrow = call(variables, moved)
        with jax.enable_x64(True):
            wide = cast((variables, moved), jnp.float64)
            problem = not_alike(f"the result around {offset:,.0f}", narrow, call(*wide))
        yield problem


def _half_precision(called: _Called) -> Problems:
    """Compare bfloat16 with float32."""
    call, variables, x = called
    narrow = cast((variables, x + 100), jnp.bfloat16)
    wide = call(*cast(narrow, jnp.float32))
    yield not_alike("the result around 100 in bfloat16", call(*narrow), wide)
