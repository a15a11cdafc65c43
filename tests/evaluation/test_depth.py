"""Sequential operations, against what can be counted by hand."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from attnjax.evaluation.depth import sequential_operations

X = jax.ShapeDtypeStruct((4, 4), jnp.float32)


def test_a_chain_counts_its_operations_and_what_stands_beside_it_nothing():
    def chain(x):
        beside = jnp.exp(jnp.sin(x))
        return jnp.tanh(x @ x) + beside + jnp.cos(x)

    # x @ x | tanh; exp and sin are as long; then two sums
    assert sequential_operations(chain, X) == 4
    assert sequential_operations(lambda x: x, X) == 0


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_loop_adds_up_what_a_step_hands_to_the_next(length):
    def loop(x):
        return lax.scan(lambda h, _: (jnp.tanh(h @ x), jnp.exp(h)), x, length=length)

    assert sequential_operations(loop, X) == 2 * length
    # the last stacked result is one operation after the carry that it is of
    assert sequential_operations(lambda x: loop(x)[1], X) == 2 * (length - 1) + 1


def test_steps_that_hand_on_little_run_side_by_side():
    def loop(h, x):
        def step(h, row):
            return h + h, jnp.sin(jnp.cos(jnp.exp(row))) * h

        return lax.scan(step, h, x)[1]

    # four steps: the last h is ready after 3, as sin cos exp is in every step; then their product
    row = jax.ShapeDtypeStruct((4,), jnp.float32)
    assert sequential_operations(loop, row, X) == 4
    assert sequential_operations(lambda x: lax.map(lambda row: jnp.sin(jnp.cos(row)), x), X) == 2


def test_calls_branches_and_derivatives_rules_are_followed():
    @jax.jit
    def called(x):
        return jnp.sin(jnp.cos(x))

    @jax.custom_vjp
    def ruled(x):
        return jnp.sin(jnp.cos(jnp.exp(x)))

    ruled.defvjp(lambda x: (ruled(x), x), lambda x, g: (g,))
    assert sequential_operations(lambda x: called(called(x)), X) == 4
    assert sequential_operations(jax.checkpoint(called), X) == 2
    assert sequential_operations(ruled, X) == 3
    branch = lambda x: lax.cond(True, called, lambda x: x, x)  # noqa: E731
    assert sequential_operations(branch, X) == 3


def test_a_loop_of_unknown_length_is_refused():
    with pytest.raises(ValueError, match="cannot be counted before it runs"):
        sequential_operations(lambda x: lax.while_loop(lambda x: x.sum() < 9, jnp.exp, x), X)
