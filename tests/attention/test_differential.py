"""Differential heads: the equations, as many parameters, pairs."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.attention.heads.differential import DifferentialHeads
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal
from attnjax.attention.state.linear import LinearAttention
from attnjax.errors import UserError
from tests.attention import oracle
from tests.attention.short import CAUSAL, D, T, called, drawn, initial


def test_differential_heads_equal_their_equations(float64):
    x = drawn()
    module = DifferentialHeads(heads=4, initial_lambda=0.6)
    variables = initial(module, x)
    gains = np.random.default_rng(1).uniform(0.5, 2, 4)
    variables["params"]["context_norm"]["scale"] = jnp.asarray(gains)
    own = jax.tree.map(np.asarray, variables["params"])
    a, b, c, d = (own[f"lambda_{name}"] for name in "abcd")
    amount = np.exp(a @ b) - np.exp(c @ d) + 0.6
    context = called(module, variables, x, mask=Causal())
    for sentence, got in zip(np.asarray(x), context, strict=True):
        merged = 0
        for pair in range(2):
            value = sentence @ own["value"]["kernel"][:, pair]
            first, second = (
                oracle.softmax(
                    oracle.scaled_dot(
                        sentence @ own["query"]["kernel"][:, 2 * pair + i],
                        sentence @ own["key"]["kernel"][:, 2 * pair + i],
                    ),
                    CAUSAL,
                )
                for i in (0, 1)
            )
            of_pair = (first - amount * second) @ value
            of_pair = of_pair / np.sqrt((of_pair**2).mean(-1, keepdims=True) + 1e-5) * gains
            merged = merged + (1 - 0.6) * of_pair @ own["out"]["kernel"][pair]
        np.testing.assert_allclose(got, merged, rtol=0, atol=1e-11)


def test_differential_heads_have_as_many_parameters_as_plain_ones():
    x = jnp.zeros((1, T, D))
    count = [
        sum(leaf.size for leaf in jax.tree.leaves(initial(module, x)))
        for module in (DifferentialHeads(heads=4, context_norm=None), MultiHead(heads=4))
    ]
    assert count[0] == count[1] + 4 * D // 4  # the vectors of lambda


def test_the_cache_of_a_word_has_the_values_of_a_pair_once():
    """As many numbers as that of plain heads: D of keys, D of values."""
    x = jnp.zeros((1, T, 64))

    def kept(module):
        begin = partial(module.init_with_output, method="prepare")
        memory, _ = jax.eval_shape(begin, jax.random.key(0), x, x)
        return sum(leaf.size for leaf in jax.tree.leaves(memory)) // T

    assert kept(DifferentialHeads(heads=4)) == kept(MultiHead(heads=4)) == 128
    # a head of another kind may keep other numbers for each head
    assert kept(DifferentialHeads(head=LinearAttention(), heads=4)) == 192


def test_differential_heads_that_do_not_divide_the_width_are_refused():
    module = DifferentialHeads(heads=6, key_width=2)
    with pytest.raises(UserError, match=r"heads do not divide the width 8: .* value_width"):
        initial(module, jnp.zeros((1, T, D)))


@pytest.mark.parametrize("options", [{"heads": 3}, {"heads": 4, "key_heads": 2}])
def test_heads_without_pairs_are_refused(options):
    with pytest.raises(UserError, match="wants an even number of heads, in pairs"):
        initial(DifferentialHeads(**options), jnp.zeros((1, T, D)))


def test_a_lambda_beyond_float16_leaves_equal_parts_finite():
    x = np.ones((1, 2, 8), np.float16)

    @jax.jit
    def compute(x):
        module = DifferentialHeads(heads=2, context_norm=None)
        params = module.init(jax.random.key(0), x)["params"]
        params = {**params, **{f"lambda_{n}": jnp.full(4, 1.8) for n in "abcd"}}
        params = jax.tree.map(lambda leaf: leaf.astype(jnp.float16), params)
        return module.apply({"params": params}, x)

    assert np.isfinite(compute(x)).all()  # exp(12.96) - exp(12.96) = 0, and 0.8 is left
