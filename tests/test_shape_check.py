"""The shapes in annotations are checked in tests, of functions and of Linen's methods."""

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, TypeCheckError

from attnjax.attention import Attention, ScaledDot, WeightedSum, softmax
from attnjax.attention.position import Positions
from attnjax.nn.norm import LayerNorm
from tests.shape_check import checked


def test_a_function_refuses_shapes_that_do_not_fit():
    logits = jnp.ones((2, 3, 4))
    assert softmax(logits, jnp.ones((1, 1, 4), bool)).shape == (2, 3, 4)
    assert softmax(np.ones((2, 3, 4)), None).shape == (2, 3, 4)  # type: ignore[arg-type]
    with pytest.raises(TypeCheckError, match="mask"):
        softmax(logits, jnp.ones((2, 3, 5), bool))
    with pytest.raises(TypeCheckError, match="mask"):
        softmax(logits, jnp.ones((2, 3, 4)))


def test_a_method_of_a_part_refuses_shapes_that_do_not_fit():
    x = jnp.ones((2, 3, 4))
    with pytest.raises(TypeCheckError, match="value"):
        WeightedSum().apply({}, x, jnp.ones((2, 3, 4)), Positions())
    with pytest.raises(TypeCheckError, match="key"):
        ScaledDot().apply({}, x, jnp.ones((3, 3, 4)), Positions())
    with pytest.raises(TypeCheckError, match="value"):
        Attention().apply({}, x, x, jnp.ones((2, 5, 4)), deterministic=True)
    with pytest.raises(TypeCheckError, match="valid"):
        LayerNorm().init({}, x, jnp.ones((2, 4), bool))


def test_a_part_whose_result_has_another_shape_is_refused_by_the_next():
    class Short(ScaledDot):
        def __call__(self, query, key, positions):
            return super().__call__(query, key, positions)[..., :1]

    with pytest.raises(TypeCheckError, match="value"):
        Attention(score=Short()).apply({}, jnp.ones((2, 3, 4)), deterministic=True)


def test_arrays_within_a_tuple_are_checked():
    @checked
    def split(x: Float[Array, "T D"]) -> tuple[Float[Array, "T D"], Float[Array, " T"] | None]:
        return (x, x[0]) if len(x) > 2 else (x, None)

    assert split(jnp.ones((2, 4)))[1] is None
    assert split(jnp.ones((4, 4)))[1].shape == (4,)
    with pytest.raises(TypeCheckError, match="return"):
        split(jnp.ones((3, 4)))


def test_a_function_without_shapes_is_left_as_it_is():
    def count(x, y: int = 0) -> int:
        return len(x) + y

    assert checked(count) is count
