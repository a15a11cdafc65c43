"""A softmax that becomes sharper where it is spread over many keys."""

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.attention.align import Align, AlignContext, softmax
from attnjax.attention.shapes import Allowed, Logits, Weights
from attnjax.nn.dtypes import widen

POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)
"""1 / temperature as a function of the entropy in nats, the highest power first."""

SHARP_ENOUGH = 0.5
"""An entropy in nats up to which a softmax is left as it is."""


def adaptive_softmax(logits: Logits, mask: Allowed | None = None) -> Weights:
    """Softmax of theta[t] logits[t, s], where theta[t] grows with the entropy of row t.

        theta = max(1, p(H)) if H > 0.5, else 1;   H = entropy of softmax(logits[t]) in nats

    p is a polynomial of degree 4, fitted by the authors to a maximum over 5 to 64 items. It is
    meant for networks that are trained already: no gradient flows through theta.

    Source: Velickovic et al. 2024, section 5 and their program.
    """
    weights = widen(softmax(logits, mask))
    entropy = jax.scipy.special.entr(weights).sum(-1, keepdims=True)
    theta = jnp.polyval(np.asarray(POLYNOMIAL, entropy.dtype), entropy)
    theta = jnp.where(entropy > SHARP_ENOUGH, jnp.maximum(theta, 1), 1)
    return softmax(jax.lax.stop_gradient(theta).astype(logits.dtype) * logits, mask)


class AdaptiveTemperature(Align):
    """`adaptive_softmax` as a part; rows sum to 1."""

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return adaptive_softmax(logits, mask)
