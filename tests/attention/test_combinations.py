"""Every cell of docs/combinations.md equals its parts' composition, or is refused."""

from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from attnjax.attention import Attention, Causal, MultiHead, Positions, rotary
from attnjax.attention.fused import Inputs
from attnjax.attention.fused.blockwise import blockwise
from attnjax.attention.fused.cudnn import cudnn
from tests import jitted
from tests.attention import oracle
from tests.attention.combinations import (
    ALIGNS,
    MASKS,
    POOLS,
    SCORES,
    TABLES,
    B,
    Case,
    D,
    T,
    align_around,
    around,
    grouped,
    latent,
    page,
    refused,
    with_align,
)

PAGE = Path(__file__).parents[2] / "docs" / "combinations.md"
AT = np.arange(T)
turned_by = jax.jit(rotary)


@cache
def inputs() -> tuple[np.ndarray, ...]:
    """Queries, keys, values."""
    draw = np.random.default_rng(0).normal
    return tuple(draw(size=(B, T, D)) for _ in range(3))


def drawn(attention: Any, mask: Any = None) -> Any:
    """Random parameters in float64."""
    start = jitted.drawn(attention, *inputs(), mask, deterministic=True)
    return jax.tree.map(np.float64, start.get("params", {}))


def context_of(
    attention: Any, mask: Any, params: Any, *given: np.ndarray, **how: Any
) -> np.ndarray:
    return jitted.apply(attention, {"params": params}, *given, mask, deterministic=True, **how)


def local_predictive(part, logits, mask, own, query):
    """Luong et al. 2015, eq. 9 and 10."""
    weights = np.zeros_like(logits)
    for t, row in enumerate(logits):
        hidden = np.tanh(own["hidden"]["kernel"].T @ query[t])
        center = mask[t].sum() / (1 + np.exp(-own["v"] @ hidden))
        near = mask[t] & (abs(AT - center) <= part.reach)
        gaussian = np.exp(-((AT - center) ** 2) / (2 * (part.reach / 2) ** 2))
        weights[t] = oracle.softmax(row[None], near[None])[0] * gaussian
    return weights


def kept(logits, mask, k):
    """The k largest allowed logits of each row."""
    rank = np.argsort(np.argsort(-np.where(mask, logits, -np.inf), kind="stable"))
    return mask & (rank < k)


def normalized(kernel, mask):
    kernel = np.where(mask, kernel, 0)
    total = kernel.sum(-1, keepdims=True)
    return kernel / np.where(total == 0, 1, total)


def adaptive_softmax(logits, mask):
    """Velickovic et al. 2024, section 5."""
    weights = oracle.softmax(logits, mask)
    entropy = -(weights * np.log(np.where(weights == 0, 1, weights))).sum(-1, keepdims=True)
    theta = np.polyval([-0.037, 0.481, -2.3, 4.917, -1.791], entropy)
    theta = np.where(entropy > 0.5, np.maximum(theta, 1), 1)
    return oracle.softmax(theta * logits, mask)


def within(part, logits, mask, own, query):
    """The weights of the align within another."""
    inner = own.get("align", {})
    return ORACLES[type(part.align).__name__](part.align, logits, mask, inner, query)


ORACLES: dict[str, Any] = {
    "Softmax": lambda part, z, m, own, q: oracle.softmax(z / part.temperature, m),
    "LearnedScale": lambda part, z, m, own, q: oracle.softmax(z * np.exp(own["log_scale"]), m),
    "Normalize": lambda part, z, m, own, q: normalized(z, m),
    "Uniform": lambda part, z, m, own, q: normalized(np.ones_like(z), m),
    "LocalMonotonic": lambda part, z, m, own, q: oracle.softmax(
        z, m & (abs(AT - AT[:, None]) <= part.reach)
    ),
    "LocalPredictive": local_predictive,
    "Sparsemax": lambda part, z, m, own, q: oracle.sparsemax(z, m),
    "Entmax15": lambda part, z, m, own, q: oracle.entmax15(z, m),
    "TopK": lambda part, z, m, own, q: oracle.softmax(z, kept(z, m, part.k)),
    "OffByOne": lambda part, z, m, own, q: oracle.softmax_with_sink(z, m, 0),
    "Sink": lambda part, z, m, own, q: oracle.softmax_with_sink(z, m, own["sink"]),
    "Sigmoid": lambda part, z, m, own, q: oracle.sigmoid(z, m),
    "ReLU": lambda part, z, m, own, q: oracle.rectified(z, m),
    "Softpick": lambda part, z, m, own, q: oracle.softpick(z, m),
    "StickBreaking": lambda part, z, m, own, q: oracle.stick_breaking(z, m, AT),
    "AdaptiveTemperature": lambda part, z, m, own, q: adaptive_softmax(z, m),
    # one head: the query's own key alone, and the identity at the start
    "HardAlibi": lambda part, z, m, own, q: within(part, z, m & np.eye(T, dtype=bool), own, q),
    "TalkingHeads": lambda part, z, m, own, q: (
        own["weights_row"][0] * within(part, own["logits_row"][0] * z, m, own, q)
    ),
    # they draw in training alone
    **dict.fromkeys(
        ("Hard", "HardMax", "StraightThrough"),
        lambda part, z, m, own, q: kept(z, m, 1).astype(float),
    ),
}
DISTANCE = 2 + np.clip(AT - AT[:, None], -2, 2)
POOL_ORACLES = {
    "WeightedSum": lambda w, v, own: oracle.pool(w, v),
    # Shaw et al. 2018, eq. 3
    "RelativeSum": lambda w, v, own: np.array(
        [sum(w[t, s] * (v[s] + own["by_distance"][DISTANCE[t, s]]) for s in AT) for t in AT]
    ),
}


def biases(gate: Any, key: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Lin et al. 2025, eq. 4: the logarithms of the gates of allowed keys after each."""
    log_gate = -np.log1p(np.exp(-(key @ gate["kernel"] + gate["bias"])))[..., 0]
    after = np.arange(T) > np.arange(T)[:, None]  # [S, R]
    return np.einsum("btr,sr,br->bts", allowed, after, log_gate)


@partial(jax.jit, static_argnums=0)
def logits_of(score: Any, own: Any, query: Any, key: Any, positions: Positions) -> jax.Array:
    prepared = score.apply(own, key, method="prepare")
    return score.apply(own, query, prepared, positions)


def composition(attention: Attention, mask: Any, params: Any) -> np.ndarray:
    """The score called alone, then align and pool as NumPy writes them."""
    query, key, value = inputs()
    positions = Positions(np.arange(T)[None], np.arange(T)[None])
    own = {"params": params.get("score", {})}
    logits = np.asarray(logits_of(attention.score, own, query, key, positions))
    allowed = np.ones((B, T, T), bool)
    if mask is not None:
        allowed &= np.asarray(mask.dense(positions))
    align, pool = (type(part).__name__ for part in (attention.align, attention.pool))
    if attention.bias is not None:
        logits = logits + biases(params["bias"]["gate"], np.asarray(key), allowed)
    found = []
    for z, m, q, v in zip(logits, allowed, query, value, strict=True):
        weights = ORACLES[align](attention.align, z, m, params.get("align", {}), q)
        found.append(POOL_ORACLES[pool](weights, v, params.get("pool", {})))
    return np.array(found)


def check(attention: Attention, mask: Any = None) -> None:
    """An attention equals its parts' composition; a mask in its own field counts as the call's."""
    params = drawn(attention, mask)
    every = mask if attention.mask is None else attention.mask
    np.testing.assert_allclose(
        context_of(attention, mask, params, *inputs()),
        composition(attention, every, params),
        rtol=0,
        atol=1e-9,
    )


def row_by_row(attention: Any, mask: Any) -> None:
    """A mask equals leaving out the keys that a query may not attend to."""
    params = drawn(attention, mask)
    allowed = np.asarray(mask.dense(Positions(np.arange(T)[None], np.arange(T)[None])))
    allowed = np.broadcast_to(allowed, (B, T, T))
    found = context_of(attention, mask, params, *inputs())
    query, key, value = inputs()
    for b, t in np.ndindex(B, T):
        keys = np.flatnonzero(allowed[b, t])
        alone = query[b : b + 1, t : t + 1], key[b : b + 1, keys], value[b : b + 1, keys]
        at = Positions(np.array([[t]]), keys[None])
        expected = context_of(attention, None, params, *alone, positions=at)
        np.testing.assert_allclose(found[b, t], expected[0, 0], rtol=0, atol=1e-9)


def kernel_is_dense(mask: Any, name: str) -> None:
    """A kernel equals the composition, as far as it runs here; splash: test_splash."""
    if name == "blockwise":
        check(Attention(implementation="blockwise"), mask)
    if name == "cudnn":
        x = tuple(array.astype(jnp.bfloat16) for array in inputs())
        runs = jax.jit(lambda x: (cudnn(Inputs(*x, mask), "xla"), blockwise(Inputs(*x, mask))))
        found, expected = (np.asarray(context, np.float32) for context in runs(x))
        np.testing.assert_allclose(found, expected, atol=0.05)


def shared_is_copied(head: Any, _: Any) -> None:
    """Heads that share keys equal heads with copies of them."""
    module = grouped(head)
    params = drawn(module)
    copies = {
        name: jax.tree.map(lambda kernel: np.repeat(kernel, 2, axis=1), params[name])
        for name in ("key", "value")
    }
    found = context_of(module, Causal(), params, *inputs())
    expected = context_of(module.clone(key_heads=None), Causal(), params | copies, *inputs())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def latent_is_plain(align: Any, _: Any) -> None:
    """Latent heads equal plain ones that are given the queries, keys and values of each head."""
    mask, (query, key, _) = MASKS["Padding"], inputs()
    for rank in (2, 40):  # weighted sums of latent vectors, and keys of each head
        module = latent(align, rank)
        own = drawn(module, mask)
        vectors = key @ own["latent"]["kernel"]
        vectors = vectors / np.sqrt((vectors**2).mean(-1, keepdims=True) + 1e-6)
        vectors = vectors * own["latent_norm"]["scale"]
        asked = np.einsum("btd,dhk->bhtk", query, own["query"]["kernel"])
        keys = np.einsum("bsr,hrn->bhsn", vectors, own["key_map"])
        values = np.einsum("bsr,hrv->bhsv", vectors, own["value_map"])
        turned = np.asarray(turned_by(asked[..., 2:], AT))
        shared = np.asarray(turned_by(key @ own["shared_key"]["kernel"], AT))
        shared = np.broadcast_to(shared[:, None], (*keys.shape[:3], 2))
        of_heads = np.concatenate([asked[..., :2], turned], -1), np.concatenate([keys, shared], -1)
        given = [np.concatenate([*x.swapaxes(0, 1)], -1) for x in (*of_heads, values)]
        cut = {
            name: {"kernel": np.eye(x.shape[-1]).reshape(-1, 2, x.shape[-1] // 2)}
            for name, x in zip(("query", "key", "value"), given, strict=True)
        }
        plain = MultiHead(head=Attention(align=align), heads=2, key_width=4, value_width=3)
        params = {
            **cut,
            "out": own["out"],
            **{name: own[name] for name in ("head",) if name in own},
        }
        found = context_of(module, mask, own, *inputs())
        expected = context_of(plain, mask, params, *given)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


CHECKS = {
    "aligns": lambda score, align: check(Attention(score=score, align=align), MASKS["Padding"]),
    "pools": lambda align, pool: check(with_align(align, pool=pool), MASKS["Causal"]),
    "around": lambda outer, inner: check(around(outer, inner).attention),
    "aligns around": lambda outer, inner: check(align_around(outer, inner), MASKS["Padding"]),
    "latent": latent_is_plain,
    "biases": lambda align, bias: check(with_align(align, bias=bias), MASKS["Causal"]),
    "fused": lambda attention, name: check(
        attention.clone(implementation=name), MASKS["Padding"] & MASKS["Causal"]
    ),
    "kernels": kernel_is_dense,
    "masks": lambda mask, attention: row_by_row(attention, mask),
    "own": lambda mask, _: check(Attention(mask=mask)),
    "key_heads": shared_is_copied,
}


@pytest.mark.parametrize(
    "table, row",
    [
        pytest.param(name, row, marks=[pytest.mark.long] if number else [])
        for name, table in TABLES.items()
        for number, row in enumerate(table.rows)
    ],
)
def test_every_cell(table, row, float64):
    """A refusal names both parts."""
    cells = TABLES[table]
    for column in cells.columns:
        sentence = cells.refused(row, column)
        if sentence is None:
            CHECKS[table](cells.rows[row], cells.columns[column])
        else:
            assert {row, column} <= {*sentence.replace(";", " ").replace(":", " ").split()}


def test_the_page_says_what_is_so():
    assert PAGE.read_text() == page(), "python -m tests.attention.combinations writes the page"


@pytest.mark.long
@given(*(st.sampled_from(sorted(parts)) for parts in (SCORES, ALIGNS, POOLS, MASKS)), st.booleans())
def test_parts_combine_if_every_pair_does(score, align, pool, mask, tiles):
    kernel = "blockwise" if tiles else "dense"
    attention = Attention(
        score=SCORES[score], align=ALIGNS[align], pool=POOLS[pool], implementation=kernel
    )
    pairs = [
        TABLES["aligns"].refused(score, align),
        *(TABLES["fused"].refused(part, kernel) for part in (score, pool)),
        *(TABLES["fused"].refused(align, kernel) for _ in range(align != "Normalize")),
        TABLES["kernels"].refused(mask, "blockwise") if tiles else None,
        tiles and (score, align) == ("SoftCap", "LearnedScale"),  # as the page says
    ]
    with jax.enable_x64(True):
        sentence = refused(Case(attention, MASKS[mask]))
        assert (sentence is None) == (not any(pairs))
        if sentence is None:
            check(attention, MASKS[mask])
