"""Hard aligns: all the weight of a row is on one key, which is drawn at random.

Without the random stream "sample" they choose the most probable key, the first of equals. A draw
depends on the number of the example in the global batch, not on the batch's layout over devices:
see `attnjax.nn.counter_hash`.
"""

import jax
import jax.numpy as jnp

from attnjax.attention.align.base import Align, AlignContext, softmax
from attnjax.attention.shapes import Allowed, Logits, Weights
from attnjax.config.constraints import PositiveFloat, Probability
from attnjax.errors import UserError
from attnjax.nn.counter_hash import uniform
from attnjax.nn.lift import sow


def gumbel(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Draw from the standard Gumbel distribution, -log(-log u): float32, from -2.8 to 16.6."""
    return -jnp.log(-jnp.log(uniform(key, shape)))


def hard(logits: Logits, mask: Allowed | None = None, key: jax.Array | None = None) -> Weights:
    """Draw an allowed key for each query from softmax(logits[t]); its weight is 1, the others 0.

    The draw is the argmax over allowed s of logits[t, s] + g[t, s], g of the Gumbel distribution.
    Rows sum to 1. No gradient flows. The leading axis of the logits numbers the examples. Without a
    key the most probable key is chosen.

    Source: Xu et al. 2015, section 4.1, eq. 8 and 9; Maddison et al. 2014 (the draw).
    """
    return _one_hot_max(_perturb(logits, key), mask).astype(logits.dtype)


def straight_through(
    logits: Logits,
    mask: Allowed | None = None,
    key: jax.Array | None = None,
    temperature: float = 1.0,
) -> Weights:
    """Return `hard` weights, with the gradient of softmax((logits + g) / temperature).

    g are the Gumbel draws that `hard` adds. The lower the temperature, the nearer the softmax is to
    the draw, and the larger the variance of its gradient.

    Raises:
        UserError: the temperature is not above 0.

    Source: Jang et al. 2017, eq. 1 and 2, section 2.2; Maddison et al. 2017.
    """
    if not temperature > 0:
        raise UserError(f"the temperature must be above 0; got {temperature}")
    perturbed = _perturb(logits, key)
    soft = softmax(perturbed / temperature, mask)
    # The term in brackets is exactly 0, so the weights are exactly 0 and 1.
    weights = _one_hot_max(perturbed, mask) + (soft - jax.lax.stop_gradient(soft))
    return weights.astype(logits.dtype)


def log_softmax(logits: Logits, mask: Allowed | None = None) -> Weights:
    """Return log `softmax`, [..., T, S]; 0 where the mask forbids, so that it adds nothing."""
    if mask is None:
        return jax.nn.log_softmax(logits)
    lowest = jnp.where(mask.any(-1, keepdims=True), jnp.finfo(logits.dtype).min, 0)
    return jnp.where(mask, jax.nn.log_softmax(jnp.where(mask, logits, lowest)), 0)


def _perturb(logits: jax.Array, key: jax.Array | None) -> jax.Array:
    """Add draws to logits, in float32 or wider: no two draws are rounded to one number."""
    return logits if key is None else logits + gumbel(key, logits.shape)


def _one_hot_max(perturbed: jax.Array, mask: jax.Array | None) -> jax.Array:
    """Return one-hot rows [..., T, S] with 1 at the largest allowed number; no gradient."""
    if not perturbed.shape[-1]:
        return perturbed
    if mask is not None:
        perturbed = jnp.where(mask, perturbed, -jnp.inf)
    rows = jax.nn.one_hot(perturbed.argmax(-1), perturbed.shape[-1], dtype=perturbed.dtype)
    return rows if mask is None else jnp.where(mask, rows, 0)


class Hard(Align):
    """`hard` as a part, trained by the objective `Reinforce`; rows sum to 1.

    With probability `soft_probability`, drawn from the random stream "coin", all weights of an
    example are the softmax instead, the expectation of the draws. Models that decode step by step
    use one coin for all steps, so that an example is soft at every step or at none.

    Sown to "objective", each [..., T], and 0 for a row that may attend to nothing:

        "log_probability"   of the drawn key; 0 where an example is soft
        "entropy"           of the softmax, in nats

    Raises:
        UserError: keys are drawn but the collection "objective" is not requested: the objective is
            not `Reinforce`, and no other objective trains this align.

    Source: Xu et al. 2015, section 4.1, eq. 8 and 9; eq. 10 to 12 use the sown values.
    """

    soft_probability: Probability = 0.5

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        key = self.make_rng("sample") if self.has_rng("sample") else None
        if key is not None and not self.is_mutable_collection("objective"):
            raise UserError(
                "the align Hard is trained by the objective Reinforce only: choose "
                "objective:reinforce, or align:straight-through"
            )
        weights, soft = hard(logits, mask, key), softmax(logits, mask)
        logs = log_softmax(logits, mask)
        drawn, entropy = (weights * logs).sum(-1), -(soft * logs).sum(-1)
        if self.has_rng("coin"):
            heads = uniform(self.make_rng("coin"), logits.shape[:1]) < self.soft_probability
            heads = heads.reshape(-1, *[1] * (logits.ndim - 1))
            weights = jnp.where(heads, soft, weights)
            drawn = jnp.where(heads[..., 0], 0, drawn)
        sow(self, "objective", "log_probability", drawn)
        sow(self, "objective", "entropy", entropy)
        return weights


class HardMax(Align):
    """The first of the largest allowed logits has the weight 1; rows sum to 1.

        weights[t, s] = 1 for the first s with the largest logits[t, s], else 0

    No draw and no gradient: only the values are trained through it. `Hard` draws while training and
    `Reinforce` trains its score; `StraightThrough` passes a gradient.

    Source: Xu et al. 2015, section 4.1, whose hard attention takes the most probable location when
        it does not draw.
    """

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        return hard(logits, mask)


class StraightThrough(Align):
    """`straight_through` as a part, for any objective; rows sum to 1."""

    temperature: PositiveFloat = 1.0

    def __call__(self, logits: Logits, mask: Allowed | None, context: AlignContext) -> Weights:
        key = self.make_rng("sample") if self.has_rng("sample") else None
        return straight_through(logits, mask, key, self.temperature)
