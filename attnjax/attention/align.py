"""Which keys, and how much of each: logits, mask -> weights.

Weights are >= 0 and 0 wherever the mask forbids. A row that may attend to nothing gets the
weight 0 everywhere, and the gradient 0: neither uniform weights (what -1e30 in place of the mask
gives) nor NaN (what -inf gives). Each align says what its other rows sum to.
"""

import jax
from flax import linen as nn


def softmax(logits: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """weights[t, s] = exp(logits[t, s]) / sum over allowed s' of exp(logits[t, s']); rows sum to 1.

    Args:
        logits: [..., T, S].
        mask: booleans that broadcast to [..., T, S], True = attend; None allows everything.

    Returns:
        [..., T, S] in the dtype of the logits.

    Source: Bahdanau et al. 2015, eq. 6.
    """
    return jax.nn.softmax(logits, axis=-1, where=mask)


class Align(nn.Module):
    """What every align is."""

    def __call__(self, logits: jax.Array, mask: jax.Array | None) -> jax.Array:
        """Logits [..., T, S] and the dense mask -> weights [..., T, S]."""
        raise NotImplementedError


class Softmax(Align):
    """`softmax` as a part; rows sum to 1."""

    def __call__(self, logits: jax.Array, mask: jax.Array | None) -> jax.Array:
        """Return [..., T, S]."""
        return softmax(logits, mask)
