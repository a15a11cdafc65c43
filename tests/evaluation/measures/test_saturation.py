"""Saturation measures against closed forms and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.evaluation.measures.saturation import entropy, jacobian_norm, logit_variance


def test_jacobian_norm_is_the_derivatives_by_finite_differences():
    logits = np.random.default_rng(0).normal(size=(2, 3, 6))

    def softmax(x):
        e = np.exp(x - x.max())
        return e / e.sum()

    norms = []
    for row in logits.reshape(-1, 6):
        step = 1e-5 * np.eye(6)
        jacobian = [(softmax(row + d) - softmax(row - d)) / 2e-5 for d in step]
        norms.append(np.linalg.norm(jacobian))
    weights = jax.nn.softmax(jnp.asarray(logits))
    assert float(jax.jit(jacobian_norm)(weights)) == pytest.approx(np.mean(norms), rel=1e-6)


@pytest.mark.parametrize("gap", [0.0, 5.0, 12.0, 15.0])
def test_jacobian_norm_keeps_its_digits_when_saturated(gap):
    # float32 weights near (1, 0, 0, 0): the closed form as written is off by 3e-4 there
    p = np.asarray(jax.nn.softmax(jnp.asarray([gap, 0.0, -0.5, -1.0])), np.float64)
    wanted = np.linalg.norm(np.diag(p) - np.outer(p, p))
    assert float(jacobian_norm(jnp.asarray(p, jnp.float32))) == pytest.approx(wanted, rel=1e-4)


def test_closed_forms():
    uniform = jnp.full((2, 3, 5), 1 / 5)
    assert float(entropy(uniform)) == pytest.approx(np.log(5), rel=1e-6)
    assert float(jacobian_norm(uniform)) == pytest.approx(np.sqrt(4) / 5, rel=1e-6)
    certain = jnp.eye(4)
    assert float(entropy(certain)) == 0
    assert float(jacobian_norm(certain)) == 0
    assert float(logit_variance(jnp.asarray([[1.0, 2.0, 3.0], [0.0, 0.0, 6.0]]))) == (1 + 12) / 2


def test_variance_of_dot_products_grows_as_their_width():
    keys = jax.random.split(jax.random.key(0))
    for width in (16, 256):
        query, key = (jax.random.normal(k, (64, 64, width)) for k in keys)
        logits = query @ key.mT
        assert float(logit_variance(logits)) == pytest.approx(width, rel=0.05)
        assert float(logit_variance(logits / width**0.5)) == pytest.approx(1, rel=0.05)
        # large common offsets are no variance
        assert float(logit_variance(logits + 1e3)) == pytest.approx(width, rel=0.05)


@pytest.mark.parametrize("measure", [logit_variance, entropy, jacobian_norm])
def test_masked_entries_and_rows_are_left_out(measure):
    generator = np.random.default_rng(1)
    allowed = jnp.asarray(generator.random((3, 1, 4, 7)) < 0.6).at[0, 0, 1].set(False)
    logits = jnp.asarray(generator.normal(size=(3, 2, 4, 7)), jnp.float32)
    array = logits if measure is logit_variance else jax.nn.softmax(logits, where=allowed)
    rows = [
        float(measure(row[keep]))
        for row, keep in zip(
            np.asarray(array).reshape(-1, 7),
            np.broadcast_to(np.asarray(allowed), array.shape).reshape(-1, 7),
            strict=True,
        )
        if keep.sum() > (measure is logit_variance)
    ]
    assert len(rows) < 24
    # whatever stands where the mask forbids: garbage, infinities
    for other in (1e9, -jnp.inf, jnp.nan):
        masked = jnp.where(allowed, array, other)
        assert float(jax.jit(measure)(masked, allowed)) == pytest.approx(np.mean(rows), rel=1e-5)
