"""Attention without weights on a TPU, interpreted on a CPU, against the dense path."""

from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas.ops.tpu import splash_attention as kernels

from attnjax.attention.align.base import softmax
from attnjax.attention.align.open import softmax_with_sink
from attnjax.attention.fused import dispatch
from attnjax.attention.fused.dispatch import fused
from attnjax.attention.fused.inputs import Inputs
from attnjax.attention.fused.splash import splash, splash_refuses
from attnjax.attention.mask import Causal, DenseMask, ExcludeSelf, Padding, Segments, Window
from attnjax.attention.pool import weighted_sum
from attnjax.attention.position import Positions
from attnjax.attention.score.base import dot, soft_cap
from attnjax.errors import UserError
from attnjax.nn.platform import compiled_for

B, H, T, S, K, V = 2, 1, 130, 140, 8, 4
WORDS = np.arange(S)[None, None]
# A row of two sentences and one of one; the second row lacks its last 100 words.
ROWS = (np.array([60, 90])[:, None, None] <= WORDS).astype(int)
PRESENT = np.array([S, S - 100])[:, None, None] > WORDS


def read(attend, direction):
    """Values and gradients."""

    def both(given):
        context = attend(*given)
        return (context * direction).sum(), context

    return jax.jit(jax.value_and_grad(both, has_aux=True))


MASKS = {
    "none": None,
    "window": Causal() & Window(20, 0),
    # In the second row, queries of the second sentence have no key.
    "packed, padded": Segments(ROWS[..., :T], ROWS) & Padding(PRESENT) & Causal(),
    # The first nine queries have none that is a key.
    "padded window": Causal() & Padding((WORDS > 8) & (WORDS < 99)) & Window(30, 4),
}
OFTEN = (
    ("plain", "window"),
    ("plain", "packed, padded"),
    ("cap and sink", "none"),
    ("cap and sink", "padded window"),
)
"""Each mask once, each kernel twice."""


@pytest.mark.parametrize(
    "cap, sink, mask",
    [
        pytest.param(
            *(cap, sink, mask),
            id=f"{kernel}-{name}",
            marks=[] if (kernel, name) in OFTEN else pytest.mark.long,
        )
        for kernel, cap, sink in (("plain", None, False), ("cap and sink", 1.5, True))
        for name, mask in MASKS.items()
    ],
)
def test_equals_the_dense_path_with_gradients(mask, cap, sink, monkeypatch):
    # The interpreter that XLA compiles: the one of a TPU's memories takes twice as long.
    name = "make_splash_mha_single_device"
    monkeypatch.setattr(kernels, name, partial(getattr(kernels, name), interpret=True))
    draw = np.random.default_rng(0).normal
    shapes = (T, K), (S, K), (S, V), (T, V)
    *given, direction = (np.float32(draw(size=(B, H, *shape))) for shape in shapes)
    given = [*given, np.float32(draw(size=(B, H, 1, 1)))]
    allowed = np.ones((B, H, T, S), bool)
    if mask is not None:
        allowed &= mask.dense(Positions(np.arange(T)[None, None], np.arange(S)[None, None]))

    def dense(query, key, value, z):
        logits = dot(query, key) / 2
        logits = logits if cap is None else soft_cap(logits, cap)
        weights = softmax_with_sink(logits, allowed, z) if sink else softmax(logits, allowed)
        return weighted_sum(weights, value)

    def by_kernel(query, key, value, z):
        own = z if sink else None
        return splash(Inputs(query, key, value, mask, scale=0.5, cap=cap, sink=own))

    expected = read(dense, direction)(given)
    found = read(by_kernel, direction)(given)
    (_, context), slopes = jax.device_get(found)
    chex.assert_trees_all_close(context, expected[0][1], rtol=0, atol=1e-5)
    chex.assert_trees_all_close(slopes, expected[1], rtol=0, atol=1e-5)
    empty = ~allowed.any(-1)
    assert (context[empty] == 0).all()
    assert (slopes[0][empty] == 0).all()


def test_what_it_cannot_compute_is_named():
    query = key = value = jnp.zeros((2, 4, K))
    packed = Segments(jnp.zeros((1, 4), int), jnp.zeros((1, 4), int))
    refused = {
        "the mask ExcludeSelf": ExcludeSelf(),
        "the mask DenseMask": DenseMask(jnp.ones((4, 4), bool)),
        "two masks Segments": packed & packed,
    }
    for name, mask in refused.items():
        with pytest.raises(UserError, match=f"splash cannot compute {name}"):
            fused(query, key, value, Causal() & mask, implementation="splash")
    with pytest.raises(UserError, match="other than 0, 1"):
        fused(
            query,
            key,
            value,
            Causal(),
            positions=Positions(jnp.zeros((1, 4), int)),
            implementation="splash",
        )
    with pytest.raises(UserError, match="the dtype float16"):
        fused(query, key, value.astype(jnp.float16), implementation="splash")
    with pytest.raises(UserError, match="a bias"):
        fused(query, key, value, bias=jnp.subtract, implementation="splash")
    assert (
        splash_refuses(Inputs(query, key, value, packed, positions=Positions(jnp.zeros((1, 4)))))
        is None
    )


def test_a_tpu_takes_it_where_it_can(monkeypatch):
    query = key = value = jnp.zeros((2, 4, K))
    named = dispatch.KERNELS["splash"]._replace(run=lambda inputs: "splash")
    monkeypatch.setitem(dispatch.KERNELS, "splash", named)
    monkeypatch.setattr(dispatch, "blockwise", lambda inputs: "blockwise")
    with compiled_for("tpu"):
        assert fused(query, key, value, Causal()) == "splash"
        assert fused(query, key, value, Causal() & ExcludeSelf()) == "blockwise"
    # XLA would have to divide the kernel among several devices.
    monkeypatch.setattr(dispatch, "platforms", lambda: ("tpu",))
    monkeypatch.setattr(jax, "device_count", lambda platform: 8)
    assert fused(query, key, value, Causal()) == "blockwise"
    monkeypatch.setattr(jax, "device_count", lambda platform: 1)
    assert fused(query, key, value, Causal()) == "splash"
