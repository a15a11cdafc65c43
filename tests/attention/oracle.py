"""The papers' equations as loops over NumPy numbers: what the package is compared with.

Nothing here imports JAX's mathematics. One sentence at a time, no leading axes. Every function
also takes complex numbers, so that `gradient` can read exact derivatives from it.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def dot(query, key):
    """Luong et al. 2015, section 3.1, "dot": [T, K], [S, K] -> [T, S]."""
    return np.array([[sum(a * b for a, b in zip(q, k, strict=True)) for k in key] for q in query])


def scaled_dot(query, key):
    """Vaswani et al. 2017, eq. 1."""
    return np.array([[q @ k / len(k) ** 0.5 for k in key] for q in query])


def general(query, key, weight):
    """Luong et al. 2015, section 3.1, "general"."""
    return np.array([[q @ weight @ k for k in key] for q in query])


def additive(query, key, query_kernel, key_kernel, v):
    """Bahdanau et al. 2015, appendix A.1.2; kernels are [K, W], as Flax has them."""
    return np.array(
        [[v @ np.tanh(query_kernel.T @ q + key_kernel.T @ k) for k in key] for q in query]
    )


def score(name: str, parameters: dict, query, key):
    """A score by the name of its class, with its Flax parameters."""
    if name == "Additive":
        kernels = parameters["query"]["kernel"], parameters["key"]["kernel"]
        return additive(query, key, *kernels, parameters["v"])
    if name == "General":
        return general(query, key, parameters["weight"])
    if name == "WidthScaledDot":  # at a base key width of 2
        return dot(query, key) * 2**0.5 / query.shape[-1]
    return {"Dot": dot, "ScaledDot": scaled_dot}[name](query, key)


def softmax(logits, mask):
    """Bahdanau et al. 2015, eq. 6, over the allowed keys; a row without any is zero."""
    weights = np.zeros_like(logits)
    for t, row in enumerate(logits):
        allowed = [s for s in range(len(row)) if mask[t, s]]
        if allowed:
            highest = max(row[s].real for s in allowed)
            total = sum(np.exp(row[s] - highest) for s in allowed)
            for s in allowed:
                weights[t, s] = np.exp(row[s] - highest) / total
    return weights


def sparsemax(logits, mask):
    """Martins & Astudillo 2016, eq. 5: the threshold that makes the row sum to 1, by bisection."""
    return _thresholded(logits, mask, lambda x: x)


def entmax15(logits, mask):
    """Peters et al. 2019: weights = (logits / 2 - threshold)^2 above it, by bisection."""
    return _thresholded(np.asarray(logits) / 2, mask, lambda x: x**2)


def _thresholded(logits, mask, power):
    weights = np.zeros_like(logits)
    for t, row in enumerate(logits):
        allowed = np.flatnonzero(mask[t])
        if not len(allowed):
            continue
        low, high = row[allowed].max() - 1, row[allowed].max()
        for _ in range(100):
            middle = (low + high) / 2
            above = sum(power(max(row[s] - middle, 0)) for s in allowed) > 1
            low, high = (middle, high) if above else (low, middle)
        for s in allowed:
            weights[t, s] = power(max(row[s] - low, 0))
    return weights


def softmax_with_sink(logits, mask, sink):
    """Miller 2023 (sink 0) and gpt-oss: one logit more in the sum."""
    return _by_key(
        logits,
        mask,
        lambda x, s: np.exp(x[s]) / (np.exp(sink) + sum(np.exp(z) for z in x.values())),
    )


def sigmoid(logits, mask):
    """Ramapuram et al. 2024, with the number of allowed keys as n: each weight for itself."""
    return _by_key(logits, mask, lambda x, s: 1 / (1 + len(x) * np.exp(-x[s])))


def rectified(logits, mask):
    """Guo et al. 2024: what is above 0, divided by the number of allowed keys."""
    return _by_key(logits, mask, lambda x, s: max(x[s], 0) / len(x))


def softpick(logits, mask):
    """Zuhri et al. 2025: what an exponential has above 1, by what all differ from it."""

    def weight(x, s):
        excess = {r: np.exp(z) - 1 for r, z in x.items()}
        highest = max(0, *(z.real for z in x.values()))
        total = sum(e if e.real > 0 else -e for e in excess.values())
        return max(excess[s], 0, key=np.real) / (total + 1e-8 * np.exp(highest))

    return _by_key(logits, mask, weight)


def stick_breaking(logits, mask, position):
    """Tan et al. 2024: a share of what the keys at later positions have left."""

    def weight(x, s):
        later = (x[r] for r in x if position[r] > position[s])
        return np.prod([1 / (1 + np.exp(-x[s])), *(1 / (1 + np.exp(z)) for z in later)])

    return _by_key(logits, mask, weight)


def _by_key(logits, mask, weight):
    """Each weight from the row's allowed logits, by their number, and the number of its key."""
    weights = np.zeros_like(logits)
    for t, row in enumerate(logits):
        allowed = {s: row[s] for s in range(len(row)) if mask[t, s]}
        for s in allowed:
            weights[t, s] = weight(allowed, s)
    return weights


def pool(weights, value):
    """c_t = sum over s of weights[t, s] value[s]: Bahdanau et al. 2015, eq. 5."""
    return np.array([sum(w * v for w, v in zip(row, value, strict=True)) for row in weights])


def attention(name: str, parameters: dict, query, key, value, mask):
    """One head: score, softmax, pool."""
    return pool(softmax(score(name, parameters, query, key), mask), value)


def multi_head(name: str, parameters: dict, query, key, value, mask):
    """Vaswani et al. 2017, section 3.2.2; kernels are [D, H, K], the last one [H, V, D]."""
    merged = 0
    for h, merge in enumerate(parameters["out"]["kernel"]):
        own = jax.tree.map(lambda p, h=h: p[h], parameters.get("head", {})).get("score", {})
        q, k, v = (
            x @ parameters[which]["kernel"][:, h]
            for which, x in (("query", query), ("key", key), ("value", value))
        )
        merged = merged + attention(name, own, q, k, v, mask) @ merge
    return merged


def gradient(function: Callable[[Any], Any], tree: Any) -> Any:
    """The derivative of a real function by every entry of a tree of arrays, exact.

    f'(x) = Im f(x + i h) / h with a tiny h: no difference is taken, so nothing cancels.

    Source: Squire and Trapp 1998, Using complex variables to estimate derivatives.
    """
    leaves, structure = jax.tree.flatten(tree)
    slopes = [np.zeros(leaf.shape) for leaf in leaves]
    for number, leaf in enumerate(leaves):
        for place in np.ndindex(leaf.shape):
            moved = leaf.astype(complex)
            moved[place] += 1e-30j
            others = [*leaves[:number], moved, *leaves[number + 1 :]]
            slopes[number][place] = function(jax.tree.unflatten(structure, others)).imag / 1e-30
    return jax.tree.unflatten(structure, slopes)


def recurrence(query, key, value, log_decay, strength, *, delta_rule, start=None):
    """One sentence, word by word: D = a_t S, S = D + k u^T with u = b (v - D^T k), or u = b v."""
    numbers = np.result_type(query, key, value, log_decay, strength)
    state = np.zeros((key.shape[-1], value.shape[-1]), numbers) if start is None else start
    contexts = []
    for q, k, v, d, b in zip(query, key, value, log_decay, strength, strict=True):
        decayed = np.exp(np.broadcast_to(d, k.shape))[:, None] * state
        missing = v - decayed.T @ k if delta_rule else v
        state = decayed + b * np.outer(k, missing)
        contexts.append(state.T @ q)
    return np.array(contexts)


def forgetting(logits, log_gate, mask):
    """Lin et al. 2025, eq. 5: the weights of a softmax with the gates after each key as a bias."""
    biased = np.array(
        [
            [
                z + sum(log_gate[r] for r in range(s + 1, len(row)) if m[r])
                for s, z in enumerate(row)
            ]
            for row, m in zip(logits, mask, strict=True)
        ]
    )
    return softmax(biased, mask)
