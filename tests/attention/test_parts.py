"""Parts that change a head's logits or weights, each against its equation; one program for all."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

from attnjax.attention.align.around import HardAlibi, TalkingHeads
from attnjax.attention.attention import Attention
from attnjax.attention.heads.multihead import MultiHead
from attnjax.attention.mask import Causal, Mask
from attnjax.attention.score.base import Dot
from attnjax.attention.score.bucketed import Bucketed
from attnjax.attention.score.capped import SoftCap
from attnjax.attention.score.positional import Alibi
from tests import jitted
from tests.attention import oracle
from tests.attention.short import CAUSAL, D, T, drawn

H = 4
BACK = np.subtract.outer(np.arange(T), np.arange(T))


def softmax(logits: np.ndarray, seen: np.ndarray = CAUSAL) -> np.ndarray:
    """Of each head, [H, T, T], over the words that are seen: by default those up to its own."""
    return np.array([oracle.softmax(one, seen) for one in logits])


def capped(products: np.ndarray, own: Any) -> np.ndarray:
    """Positions within the cap, the mask after it."""
    slopes = 2.0 ** (-8 * (1 + np.arange(H)) / H)
    bias = -slopes[:, None, None] * abs(BACK)
    return softmax(1.5 * np.tanh((products / (D / H) ** 0.5 + bias) / 1.5))


def by_bucket(products: np.ndarray, own: Any) -> np.ndarray:
    """A distance gets the number of its bucket: 0, 1, 2 or more than 2, before a word or ahead."""
    bucket = np.minimum(abs(BACK), 3) + np.where(BACK < 0, 4, 0)
    return softmax(products + own["score"]["by_bucket"][:, bucket], np.ones((T, T), bool))


def nearest(products: np.ndarray, own: Any) -> np.ndarray:
    """The h nearest words before a query's own are seen by head h, all of them by the last."""
    seen = [CAUSAL & (most >= BACK) for most in (0, 1, 2, T)]
    scaled = products / (D / H) ** 0.5
    return np.array([oracle.softmax(*pair) for pair in zip(scaled, seen, strict=True)])


def talking(products: np.ndarray, own: Any) -> np.ndarray:
    """Heads are mixed before the softmax, and after it."""
    before, after = own["align"]["logits_row"], own["align"]["weights_row"]
    weights = softmax(np.einsum("gh,hts->gts", before, products / (D / H) ** 0.5))
    return np.einsum("gh,hts->gts", after, weights)


PARTS: dict[str, tuple[Attention, Mask | None, Callable[[np.ndarray, Any], np.ndarray]]] = {
    "a cap around positions": (Attention(score=SoftCap(score=Alibi(), cap=1.5)), Causal(), capped),
    "buckets": (Attention(score=Bucketed(score=Dot(), buckets=8, most=4)), None, by_bucket),
    "hard ALiBi": (Attention(align=HardAlibi(unbounded=1)), Causal(), nearest),
    "talking heads": (Attention(align=TalkingHeads()), Causal(), talking),
}
"""A head, its mask, and its weights of products of queries and keys, and of its parameters."""


@cache
def computed() -> tuple[Any, Any, Any]:
    """Drawn parameters, contexts of all parts, and the first parameters of talking heads."""
    modules = {name: MultiHead(head=head, heads=H) for name, (head, _, _) in PARTS.items()}
    x = drawn()
    given = {name: jitted.drawn(one, x, deterministic=True) for name, one in modules.items()}

    @jax.jit
    def read(given: Any) -> Any:
        contexts = {
            name: modules[name].apply(own, x, mask=PARTS[name][1], deterministic=True)
            for name, own in given.items()
        }
        first = modules["talking heads"].init(jax.random.key(0), x, deterministic=True)
        return contexts, first["params"]["head"]["align"]

    return given, *jax.device_get(read(given))


@pytest.mark.parametrize("name", PARTS)
def test_a_part_equals_its_equation(name, float64):
    given, contexts, _ = computed()
    own, weights_of = given[name]["params"], PARTS[name][2]
    for sentence, found in zip(np.asarray(drawn()), contexts[name], strict=True):
        query, key, value = (
            np.einsum("td,dhk->htk", sentence, own[which]["kernel"])
            for which in ("query", "key", "value")
        )
        weights = weights_of(query @ key.swapaxes(-1, -2), own.get("head", {}))
        expected = np.einsum("htk,hkd->td", weights @ value, own["out"]["kernel"])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_talking_heads_start_as_heads_alone(float64):
    for rows in computed()[2].values():
        np.testing.assert_array_equal(rows, np.eye(H))
