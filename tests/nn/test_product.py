"""Products of rounded operands against the oracle: operands in bfloat16, sums in float64."""

from contextlib import nullcontext

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from attnjax.nn.platform import compiled_for
from attnjax.nn.product import product, rounded_products

draw = np.random.default_rng(0).normal
CASES = {
    "a linear map": ("nk,km->nm", (6, 4), (4, 5)),
    "logits": ("tk,sk->ts", (3, 2, 6, 4), (3, 2, 5, 4)),
    "a weighted sum": ("ts,sv->tv", (3, 6, 4), (3, 4, 5)),
    "keys of all": ("tk,sk->ts", (3, 2, 6, 4), (3, 1, 5, 4)),
    "one matrix": ("tk,kv->tv", (3, 2, 6, 4), (4, 5)),
    "over rows": ("nv,nd->vd", (6, 4), (6, 5)),
}


def rounded(x):
    return np.asarray(x, ml_dtypes.bfloat16).astype(np.float64)


def oracle(axes, left, right, slope):
    """The product of rounded operands and its gradients, for a rounded slope."""
    terms, result = axes.split("->")
    rows, columns = terms.split(",")

    def summed(axes, one, other):
        left, right, result = axes.replace(",", "->").split("->")
        return np.einsum(f"...{left},...{right}->...{result}", rounded(one), rounded(other))

    gradients = (
        summed(f"{result},{columns}->{rows}", slope, right),
        summed(f"{rows},{result}->{columns}", left, slope),
    )
    shaped = []
    for gradient, x in zip(gradients, (left, right), strict=True):
        extra = tuple(range(gradient.ndim - x.ndim))
        gradient = gradient.sum(extra)
        alike = tuple(i for i, size in enumerate(x.shape) if size == 1 != gradient.shape[i])
        shaped.append(gradient.sum(alike, keepdims=True))
    return summed(axes, left, right), shaped


@pytest.mark.parametrize("name", CASES)
def test_equals_the_product_of_rounded_operands_and_so_do_the_gradients(name):
    axes, *shapes = CASES[name]
    left, right = (np.asarray(draw(size=shape), np.float32) for shape in shapes)

    def pulled(left, right, slope):
        result, pull = jax.vjp(lambda left, right: product(axes, left, right), left, right)
        return result, pull(slope)

    slope = np.asarray(draw(size=jax.eval_shape(lambda *x: product(axes, *x), left, right).shape))
    with rounded_products():
        result, gradients = jax.jit(pulled)(left, right, slope.astype(np.float32))
    wanted, wanted_gradients = oracle(axes, left, right, slope.astype(np.float32))
    for ours, theirs in zip((result, *gradients), (wanted, *wanted_gradients), strict=True):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    rows, columns = (f"...{term}" for term in axes.split("->")[0].split(","))
    exact = np.einsum(f"{rows},{columns}->...{axes.split('->')[1]}", left, right)
    assert np.abs(result - exact).max() > 1e-4, "not the product in float32"


ORDERS = [
    f"{rows},{columns}->{result}"
    for rows in ("tk", "kt")
    for columns in ("sk", "ks")
    for result in ("ts", "st")
]


@pytest.mark.parametrize(
    "leading", [((2, 3), (2, 3)), ((2, 3), ()), ((), (2, 3)), ((2, 1), (1, 3))], ids=str
)
@pytest.mark.parametrize(
    "sizes",
    [
        {"t": 16, "s": 24, "k": 8},
        # XLA computes some products with a side of 1 in another way
        *(
            pytest.param({"t": 8, "s": 8, "k": 8} | {side: 1}, marks=pytest.mark.long)
            for side in "tsk"
        ),
    ],
    ids=str,
)
def test_equals_einsum_in_every_order_of_the_axes(leading, sizes):
    """In shapes that the units read, and with a transposition that XLA could merge."""

    def operands(axes):
        terms = axes.split("->")[0].split(",")
        return [
            np.float32(draw(size=(*before, *(sizes[axis] for axis in term))))
            for term, before in zip(terms, leading, strict=True)
        ]

    def pulled(axes, left, right, slope):
        def read(left, right):
            return jnp.swapaxes(product(axes, left, right), -1, -2)

        result, pull = jax.vjp(read, left, right)
        return result, *pull(slope)

    given = {}
    for axes in ORDERS:
        left, right = operands(axes)
        shape = np.einsum(f"...{axes}".replace(",", ",...").replace("->", "->..."), left, right)
        slope = np.asarray(draw(size=np.swapaxes(shape, -1, -2).shape), np.float32)
        given[axes] = left, right, slope
    with rounded_products():
        found = jax.jit(lambda given: {axes: pulled(axes, *x) for axes, x in given.items()})(given)
    for axes, (left, right, slope) in given.items():
        wanted, gradients = oracle(axes, left, right, np.swapaxes(slope, -1, -2))
        for ours, theirs in zip(
            found[axes], (np.swapaxes(wanted, -1, -2), *gradients), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)


def test_examples_of_vmap_are_products_of_their_own():
    left, right = (np.float32(draw(size=(3, 4, 4))) for _ in range(2))

    def loss(left, right):
        return (product("nk,km->nm", left, right) ** 2).sum()

    with rounded_products():
        gradient = jax.jit(jax.grad(loss, (0, 1)))
        together = jax.jit(jax.vmap(jax.grad(loss, (0, 1))))(left, right)
        apart = [gradient(*pair) for pair in zip(left, right, strict=True)]
    for ours, theirs in zip(together, zip(*apart, strict=True), strict=True):
        np.testing.assert_allclose(ours, np.stack(theirs), rtol=1e-6)


@pytest.mark.parametrize("context", [nullcontext, lambda: compiled_for("tpu")])
def test_elsewhere_it_is_the_product_of_float32(context):
    left, right = (jnp.asarray(draw(size=(4, 4)), jnp.float32) for _ in range(2))

    def traced(multiply):
        return str(jax.make_jaxpr(multiply)(left, right))

    with context(), rounded_products() if context is not nullcontext else nullcontext():
        ours = traced(lambda left, right: product("nk,km->nm", left, right))
    assert ours == traced(lambda left, right: jnp.einsum("...nk,...km->...nm", left, right))


@pytest.mark.parametrize(
    "dtypes",
    [("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "bfloat16")],
    ids=" ".join,
)
def test_operands_in_half_precision_stay_as_they_are(dtypes):
    """Rounded to bfloat16, one in float16 would lose digits; a result would change its dtype."""
    operands = [jnp.asarray(draw(size=(8, 8)), dtype) for dtype in dtypes]
    plain = jax.make_jaxpr(lambda *x: jnp.einsum("...nk,...km->...nm", *x))
    with rounded_products():
        ours = jax.make_jaxpr(lambda *x: product("nk,km->nm", *x))(*operands)
        assert str(ours) == str(plain(*operands))


def test_a_gpu_is_asked_by_its_context():
    with compiled_for("cuda"), rounded_products():
        traced = str(jax.make_jaxpr(lambda x: product("nk,km->nm", x, x))(jnp.ones((4, 4))))
    assert "BF16_BF16_F32" in traced
    assert "custom_vjp" not in traced
