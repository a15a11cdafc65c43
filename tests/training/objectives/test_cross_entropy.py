from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attnjax.data.special_tokens import PAD
from attnjax.nn.platform import compiled_for
from attnjax.training.objectives import cross_entropy as module
from attnjax.training.objectives.cross_entropy import cross_entropy

SMOOTHING = 0.1


def example(seed: int, batch: int = 8, length: int = 7, words: int = 13, width: int = 4):
    random = np.random.default_rng(seed)
    target = random.integers(1, words, (batch, length))
    target[random.random(target.shape) < 0.3] = PAD
    target[-1] = PAD
    return random.normal(size=(batch, length, width)), random.normal(size=(words, width)), target


def oracle(hidden: np.ndarray, table: np.ndarray, target: np.ndarray):
    """Return sums, and the gradients of the first for hidden and table, from the whole softmax."""
    logits = np.einsum("btd,vd->btv", hidden, table)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    words = table.shape[0]
    wanted = (1 - SMOOTHING) * np.eye(words)[target] + SMOOTHING / words
    live = (target != PAD)[..., None]
    nll = -(np.eye(words)[target] * log_p * live).sum()
    smoothed = -(wanted * log_p * live).sum()
    correct = ((logits.argmax(-1) == target) & (target != PAD)).sum()
    difference = (np.exp(log_p) - wanted) * live
    gradients = (
        np.einsum("btv,vd->btd", difference, table),
        np.einsum("btv,btd->vd", difference, hidden),
    )
    return (smoothed, nll, correct, live.sum()), gradients


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("platform, chunk", [("cpu", 5), ("cpu", 512), ("tpu", 10), ("cuda", 60)])
def test_equals_the_whole_softmax(monkeypatch, platform, chunk):
    monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(module, "LOGITS", dict.fromkeys(module.LOGITS, chunk * 13 * 8))

    def loss(hidden, table, target):
        with compiled_for(platform):
            totals = cross_entropy(hidden, table, target, smoothing=SMOOTHING)
        (smoothed, count), (nll, _), (correct, _) = (
            totals[name] for name in ("loss", "nll", "accuracy")
        )
        return 3 * smoothed, (smoothed, nll, correct, count)

    examples = [example(seed) for seed in range(2)]
    stacked = [np.stack(x) for x in zip(*examples, strict=True)]
    both = jax.jit(jax.vmap(jax.value_and_grad(loss, (0, 1), has_aux=True)))
    (_, sums), gradients = jax.device_get(both(*stacked))
    for index, one in enumerate(examples):
        wanted_sums, wanted = oracle(*one)
        np.testing.assert_allclose([x[index] for x in sums], wanted_sums, rtol=1e-12)
        for ours, theirs in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(ours[index], 3 * theirs, rtol=1e-12, atol=1e-12)
    plain = jax.jit(loss)(*(x[0] for x in stacked))[1]
    np.testing.assert_allclose(plain, [x[0] for x in sums], rtol=1e-12)


def test_a_batch_of_filler_alone_is_nothing():
    hidden, table, target = example(0)
    value, gradient = jax.jit(
        jax.value_and_grad(
            lambda h: cross_entropy(h, table, jnp.zeros_like(target), smoothing=SMOOTHING)["loss"][
                0
            ]
        )
    )(hidden)
    assert float(value) == 0
    assert not np.any(gradient)


def test_bfloat16_is_added_up_in_float32():
    hidden, table, target = example(0)
    summed = jax.jit(partial(cross_entropy, smoothing=SMOOTHING))
    half = summed(hidden.astype(jnp.bfloat16), table.astype(jnp.bfloat16), target)
    full = summed(hidden, table, target)
    assert all(x.dtype == jnp.float32 for x in jax.tree.leaves(half))
    np.testing.assert_allclose(half["loss"], full["loss"], rtol=1e-2)


def test_holds_a_chunk_of_logits_and_computes_gradients_only_when_asked():
    tokens, words, width = 4096, 1000, 8
    shapes = (
        jax.ShapeDtypeStruct((64, tokens // 64, width), jnp.float32),
        jax.ShapeDtypeStruct((words, width), jnp.float32),
        jax.ShapeDtypeStruct((64, tokens // 64), jnp.int32),
    )

    def loss(hidden, table, target):
        return cross_entropy(hidden, table, target, smoothing=SMOOTHING)["loss"][0]

    compiled = jax.jit(jax.grad(loss, (0, 1))).lower(*shapes).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < tokens * words * 4 / 2
    products = [
        str(jax.make_jaxpr(f)(*shapes)).count("dot_general[") for f in (loss, jax.grad(loss))
    ]
    assert products == [1, 3]


@pytest.mark.parametrize(
    "platform, tokens, words, chunk",
    [
        ("cpu", 4096, 37_000, 512),
        ("cpu", 100, 37_000, 100),
        ("tpu", 3072, 37_000, 768),  # four chunks, each of 114 MB
        ("tpu", 3072, 100, 3072),
        ("cuda", 3072, 37_000, 3072),
        ("tpu", 3, 10**9, 1),
    ],
)
def test_the_logits_of_a_chunk_fit_the_platform(platform, tokens, words, chunk):
    hidden, table = (jax.ShapeDtypeStruct((size, 4), jnp.float32) for size in (tokens, words))
    target = jax.ShapeDtypeStruct((1, tokens), jnp.int32)

    def loss(hidden, table, target):
        with compiled_for(platform):
            return cross_entropy(hidden[None], table, target, smoothing=SMOOTHING)["loss"][0]

    traced = str(jax.make_jaxpr(jax.grad(loss))(hidden, table, target))
    assert f"f32[{chunk},{words}]" in traced
    assert f"length={-(-tokens // chunk)}" in traced
