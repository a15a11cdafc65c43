"""Biases of each query and each key tile by tile: forget gates without their [T, S] weights."""

from functools import partial
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial

from attnjax.attention.align.base import Softmax
from attnjax.attention.attention import Attention
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.cudnn import cudnn_refuses
from attnjax.attention.fused.inputs import Inputs, SideBias
from attnjax.attention.fused.splash import splash_refuses
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Mask, Padding, Prefix, Segments, Window
from attnjax.attention.position import Positions, distance
from attnjax.attention.score.bias import Forgetting
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.score.positional import Alibi
from attnjax.errors import UserError
from attnjax.nn.norm import RMSNorm
from tests.attention import oracle

B, T, K, D = 2, 11, 4, 8
WORDS = np.arange(T)
PRESENT = np.array([T, 6])[:, None] > WORDS[None]
SEGMENT = np.broadcast_to((WORDS >= 5) * 1, (B, T))
AT = np.broadcast_to(np.where(WORDS >= 5, WORDS - 5, WORDS), (B, T))
MASKS: dict[str, tuple[Mask, Positions]] = {
    "all words": (Padding(PRESENT), Positions()),
    "causal window": (Causal() & Window(6, 0) & Padding(PRESENT), Positions()),
    "packed": (Segments(SEGMENT, SEGMENT) & Causal(), Positions(AT, AT)),
}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr("attnjax.attention.fused.blockwise._side", lambda length: 4)


def with_gradients(attend, given, direction):
    def read(given):
        context = attend(*given)
        return (context * direction).sum(), context

    return jax.jit(jax.value_and_grad(read, has_aux=True))(given)


def test_tiles_equal_the_oracle_with_gradients(float64):
    """Both kinds of bias together, a row without a key, and a side that examples share."""
    draw = np.random.default_rng(0).normal
    query, key, value, direction = (draw(size=(B, T, K)) for _ in range(4))
    given = query, key, value, draw(size=(B, T)), draw(size=(1, T))
    seen = PRESENT[:, None] & (WORDS[:, None] > WORDS[None])
    back = np.subtract.outer(WORDS, WORDS)

    def by_tiles(query, key, value, of_query, of_key):
        tilt = Partial(lambda query, positions: 0.1 * distance(positions))
        mask = Padding(PRESENT) & Causal()
        at = Positions(jnp.arange(T)[None] - 1, jnp.arange(T)[None])
        sides = SideBias(of_query, of_key)
        return blockwise(Inputs(query, key, value, mask, at, tilt, 0.5, sides=sides))

    def expected(query, key, value, of_query, of_key):
        rows = []
        for b in range(B):
            own = of_query[b][:, None] + of_key[0][None]
            logits = query[b] @ key[b].T / 2 + own + 0.1 * (1 - back)
            rows.append(oracle.softmax(logits, seen[b]) @ value[b])
        return np.array(rows)

    (_, context), slopes = with_gradients(by_tiles, given, direction)
    np.testing.assert_allclose(context, expected(*given), rtol=0, atol=1e-12)
    by_oracle = oracle.gradient(lambda given: (expected(*given) * direction).sum(), given)
    chex.assert_trees_all_close(slopes, by_oracle, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", MASKS)
def test_heads_that_forget_are_the_same_by_tiles(name, float64):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(B, T, D)))
    mask, at = MASKS[name]
    head = Attention(score=Alibi(), align=Softmax(temperature=0.7), bias=Forgetting())
    dense, tiled = (
        MultiHead(head=head.clone(implementation=how), heads=2, query_key_norm=RMSNorm())
        for how in ("dense", "blockwise")
    )
    shapes = jax.eval_shape(partial(dense.init, deterministic=True), jax.random.key(0), x)
    random = np.random.default_rng(1).normal
    params = jax.tree.map(lambda leaf: jnp.asarray(random(size=leaf.shape)), shapes["params"])

    def read(module: MultiHead, params: Any, x: Any) -> Any:
        context: Any = module.apply(
            {"params": params}, x, mask=mask, positions=at, deterministic=True
        )
        return (context**2).sum()

    slopes = jax.jit(lambda *x: [jax.value_and_grad(partial(read, m), (0, 1))(*x) for m in both])
    both = dense, tiled
    expected, found = slopes(params, x)
    chex.assert_trees_all_close(found, expected, rtol=1e-10, atol=1e-10)
    assert np.abs(expected[1][0]["head"]["bias"]["gate"]["kernel"]).max() > 1e-3


def test_no_array_of_all_pairs_is_made(monkeypatch):
    length = 48
    module = MultiHead(head=Attention(bias=Forgetting(), implementation="blockwise"), heads=2)
    x = jnp.zeros((1, length, D))
    variables = jax.eval_shape(partial(module.init, deterministic=True), jax.random.key(0), x)

    def read(variables: Any, x: Any) -> Any:
        context: Any = module.apply(variables, x, mask=Causal(), deterministic=True)
        return context.sum()

    program = str(jax.make_jaxpr(jax.grad(read))(variables, x))
    assert "4,4]" in program
    assert f"{length},{length}]" not in program


@pytest.mark.parametrize(
    "mask, at",
    [
        (Causal() & Prefix(2), Positions()),
        (Causal(), Positions(AT, AT)),
        (Window(2, 2), Positions()),
    ],
    ids=["prefix", "positions", "window on both sides"],
)
def test_masks_under_which_gates_belong_to_pairs_are_refused(mask, at):
    module = Attention(bias=Forgetting(), implementation="blockwise")
    with pytest.raises(
        UserError, match="the bias Forgetting needs the .* implementation blockwise"
    ):
        jax.eval_shape(
            partial(module.init, mask=mask, positions=at, deterministic=True),
            jax.random.key(0),
            jnp.zeros((B, T, D)),
        )


def test_a_bias_after_a_cap_is_refused_by_a_kernel_and_kernels_of_platforms_name_it():
    module = Attention(score=SoftCap(), bias=Forgetting(), implementation="blockwise")
    with pytest.raises(UserError, match="the bias Forgetting after the cap of SoftCap"):
        module.init(jax.random.key(0), jnp.zeros((1, 3, 4)), deterministic=True)
    x = jnp.zeros((1, 8, 8), jnp.bfloat16)
    inputs = Inputs(x, x, x, sides=SideBias(x[..., 0], x[..., 0]))
    assert cudnn_refuses(inputs) == splash_refuses(inputs) == "a bias of each query and key"
