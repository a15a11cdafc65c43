"""Every recurrence of this folder in a few lines of NumPy, word by word, as its paper prints it.

What a recurrent attention computes is read here, and what computes it fast is compared with it.
Arrays are those of one sentence, without leading axes; all is computed in float64. Queries and keys
are as they reach the state: `DecayedState` and `DeltaRule` divide queries by sqrt(K) before, and
`DeltaRule` queries and keys by their norms. A state is [K, V], or [V, K] where the paper has
columns; it is 0 before the first word.
"""

import numpy as np
from jaxtyping import Float

Queries = Float[np.ndarray, "T K"]
Keys = Float[np.ndarray, "T K"]
Values = Float[np.ndarray, "T V"]
Contexts = Float[np.ndarray, "T V"]
WordDecays = Float[np.ndarray, "T 1"]
FeatureDecays = Float[np.ndarray, "T K"]
Decays = Float[np.ndarray, "T #K"]
"""From 0 to 1: a number for each word, or for each feature of its key."""
Strengths = Float[np.ndarray, " T"]


def linear_attention(query: Queries, key: Keys, value: Values) -> Contexts:
    """Return the contexts of linear attention with the features phi(x) = elu(x) + 1.

        s_t = s_{t-1} + phi(k_t) v_t^T,   z_t = z_{t-1} + phi(k_t)
        context[t] = phi(q_t)^T s_t / phi(q_t)^T z_t

    Source: Katharopoulos et al. 2020, eq. 10 to 12 and 16 to 20, and 7 (the features).
    """
    query, key, value = _float64(query, key, value)
    s, z = _state(key, value), np.zeros(key.shape[1])
    contexts = []
    for q, k, v in zip(elu_plus_one(query), elu_plus_one(key), value, strict=True):
        s = s + np.outer(k, v)
        z = z + k
        contexts.append(q @ s / (q @ z))
    return np.array(contexts)


def retention(query: Queries, key: Keys, value: Values, decay: WordDecays) -> Contexts:
    """Return the contexts of retention; its decay gamma is the same for all words.

        S_t = gamma S_{t-1} + k_t v_t^T,   context[t] = q_t S_t

    Source: Sun et al. 2023, eq. 5 and 6.
    """
    query, key, value, decay = _float64(query, key, value, decay)
    state = _state(key, value)
    contexts = []
    for q, k, v, gamma in zip(query, key, value, decay, strict=True):
        state = gamma * state + np.outer(k, v)
        contexts.append(q @ state)
    return np.array(contexts)


def gated_linear_attention(
    query: Queries, key: Keys, value: Values, decay: FeatureDecays
) -> Contexts:
    """Return the contexts of gated linear attention.

        S_t = diag(a_t) S_{t-1} + k_t v_t^T,   context[t] = q_t S_t

    Source: Yang et al. 2024a, eq. 3.
    """
    query, key, value, decay = _float64(query, key, value, decay)
    state = _state(key, value)
    contexts = []
    for q, k, v, a in zip(query, key, value, decay, strict=True):
        state = np.diag(a) @ state + np.outer(k, v)
        contexts.append(q @ state)
    return np.array(contexts)


def state_space(
    query: Queries, key: Keys, value: Values, decay: Decays, strength: Strengths
) -> Contexts:
    """Return the contexts of Mamba-2's layer; its C, B and x are queries, keys and values.

        h_t = A_t h_{t-1} + (dt_t B_t) x_t^T,   y_t = C_t^T h_t

    A_t, the decay, is one number for a word, and may be diagonal; the step of time dt_t is the
    strength.

    Source: Dao and Gu 2024, eq. 1, discretized as in their program.
    """
    query, key, value, decay, strength = _float64(query, key, value, decay, strength)
    h = _state(key, value)
    y = []
    for c, b, x, a, dt in zip(query, key, value, decay, strength, strict=True):
        h = a[:, None] * h + np.outer(dt * b, x)
        y.append(c @ h)
    return np.array(y)


def fast_weights(query: Queries, key: Keys, value: Values, strength: Strengths) -> Contexts:
    """Return the contexts of fast weights, with features of queries and keys that sum to 1.

        f(x) = phi(x) / sum of phi(x),   phi(x) = elu(x) + 1
        W_t = W_{t-1} + b_t (v_t - W_{t-1} f(k_t)) f(k_t)^T,   context[t] = W_t f(q_t)

    Source: Schlag et al. 2021, eq. 24 and section 4.2.
    """
    query, key, value, strength = _float64(query, key, value, strength)
    weights = _state(value, key)
    query, key = (x / x.sum(-1, keepdims=True) for x in map(elu_plus_one, (query, key)))
    contexts = []
    for q, k, v, b in zip(query, key, value, strength, strict=True):
        weights = weights + b * np.outer(v - weights @ k, k)
        contexts.append(weights @ q)
    return np.array(contexts)


def delta_rule(query: Queries, key: Keys, value: Values, strength: Strengths) -> Contexts:
    """Return the contexts of the delta rule.

        S_t = S_{t-1} (I - b_t k_t k_t^T) + b_t v_t k_t^T,   context[t] = S_t q_t

    Source: Yang et al. 2024b, eq. 4.
    """
    query, key, value, strength = _float64(query, key, value, strength)
    state, identity = _state(value, key), np.eye(key.shape[1])
    contexts = []
    for q, k, v, b in zip(query, key, value, strength, strict=True):
        state = state @ (identity - b * np.outer(k, k)) + b * np.outer(v, k)
        contexts.append(state @ q)
    return np.array(contexts)


def gated_delta_rule(
    query: Queries, key: Keys, value: Values, decay: WordDecays, strength: Strengths
) -> Contexts:
    """Return the contexts of the gated delta rule.

        S_t = S_{t-1} (a_t (I - b_t k_t k_t^T)) + b_t v_t k_t^T,   context[t] = S_t q_t

    Source: Yang et al. 2025, eq. 10.
    """
    query, key, value, decay, strength = _float64(query, key, value, decay, strength)
    state, identity = _state(value, key), np.eye(key.shape[1])
    contexts = []
    for q, k, v, a, b in zip(query, key, value, decay, strength, strict=True):
        state = state @ (a * (identity - b * np.outer(k, k))) + b * np.outer(v, k)
        contexts.append(state @ q)
    return np.array(contexts)


def kimi_delta_attention(
    query: Queries, key: Keys, value: Values, decay: Decays, strength: Strengths
) -> Contexts:
    """Return the contexts of Kimi's delta attention, the delta rule with a decay of each feature.

        S_t = (I - b_t k_t k_t^T) diag(a_t) S_{t-1} + b_t k_t v_t^T,   context[t] = S_t^T q_t

    A decay of each word, [T, 1], is that of all its features.

    Source: Kimi Team 2025 (Kimi Linear), eq. 1.
    """
    query, key, value, decay, strength = _float64(query, key, value, decay, strength)
    state, identity = _state(key, value), np.eye(key.shape[1])
    contexts = []
    for q, k, v, a, b in zip(query, key, value, decay, strength, strict=True):
        state = (identity - b * np.outer(k, k)) @ (a[:, None] * state) + b * np.outer(k, v)
        contexts.append(q @ state)
    return np.array(contexts)


def elu_plus_one(x: np.ndarray) -> np.ndarray:
    """Return elu(x) + 1, that is x + 1 if x > 0, else exp(x). Katharopoulos et al. 2020, eq. 7."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def _float64(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return arrays in float64."""
    return tuple(np.asarray(array, np.float64) for array in arrays)


def _state(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the state before the first word, with the widths of these as rows and columns."""
    return np.zeros((rows.shape[1], columns.shape[1]))
