"""Aligns that put all the weight of a row on one key, which they draw.

Without a key of the stream "sample" they take the most probable key, the first of equals. What is
drawn depends on the example's number in the global batch and not on its layout: see `bits`.
"""

import jax
import jax.numpy as jnp

from attnjax.attention.align import Align, AlignContext, softmax
from attnjax.config.constraints import PositiveFloat, Probability
from attnjax.errors import UserError
from attnjax.nn.counter_hash import uniform


def gumbel(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Numbers of the standard Gumbel distribution, -log(-log u): float32, from -2.8 to 16.6.

    Args:
        key: a jax.random key.
        shape: [B, ...]; the leading axis numbers the examples.
    """
    return -jnp.log(-jnp.log(uniform(key, shape)))


def hard(
    logits: jax.Array, mask: jax.Array | None = None, key: jax.Array | None = None
) -> jax.Array:
    """weights[t] is 1 at one allowed key, drawn from softmax(logits[t]), and 0 at all others.

    s = argmax over allowed s' of logits[t, s'] + a Gumbel number of its own has that distribution.
    No gradient flows; rows sum to 1.

    Args:
        logits: [..., T, S]; the leading axis numbers the examples.
        mask: booleans [..., T, S], True = attend; None allows everything.
        key: a jax.random key; None: the most probable key.

    Source: Xu et al. 2015, section 4.1, eq. 8 and 9; Maddison et al. 2014 (the draw).
    """
    return _strongest(_perturbed(logits, key), mask)


def straight_through(
    logits: jax.Array,
    mask: jax.Array | None = None,
    key: jax.Array | None = None,
    temperature: float = 1.0,
) -> jax.Array:
    """`hard` forwards; backwards the softmax of what was drawn from, divided by a temperature.

    Gradients are those of softmax((logits + g) / temperature), g the Gumbel numbers of the draw.

    Args:
        logits: as in `hard`.
        mask: likewise.
        key: likewise.
        temperature: above 0; the lower, the nearer is the softmax to the draw, and the wilder its
            gradient.

    Raises:
        UserError: the temperature is not above 0.

    Source: Jang et al. 2017, eq. 1 and 2, section 2.2; Maddison et al. 2017.
    """
    if not temperature > 0:
        raise UserError(f"a temperature must be above 0; got {temperature}")
    perturbed = _perturbed(logits, key)
    soft = softmax(perturbed / temperature, mask)
    # The bracket is 0 exactly, so that the weights are exactly 0 and 1.
    return _strongest(perturbed, mask) + (soft - jax.lax.stop_gradient(soft))


def log_softmax(logits: jax.Array, mask: jax.Array | None = None) -> jax.Array:
    """The logarithm of `softmax`, [..., T, S]; 0 where the mask forbids, so that sums pass it."""
    if mask is None:
        return jax.nn.log_softmax(logits)
    lowest = jnp.where(mask.any(-1, keepdims=True), jnp.finfo(logits.dtype).min, 0)
    return jnp.where(mask, jax.nn.log_softmax(jnp.where(mask, logits, lowest)), 0)


def _perturbed(logits: jax.Array, key: jax.Array | None) -> jax.Array:
    return logits if key is None else logits + gumbel(key, logits.shape).astype(logits.dtype)


def _strongest(perturbed: jax.Array, mask: jax.Array | None) -> jax.Array:
    """1 at the largest allowed number of each row [..., T, S], without a gradient."""
    if mask is not None:
        perturbed = jnp.where(mask, perturbed, -jnp.inf)
    one = jax.nn.one_hot(perturbed.argmax(-1), perturbed.shape[-1], dtype=perturbed.dtype)
    return one if mask is None else jnp.where(mask, one, 0)


class Hard(Align):
    """`hard` as a part, trained by the objective `Reinforce`; rows sum to 1.

    Some examples are left soft: with the probability `soft_probability`, drawn from the stream
    "coin", all weights of an example are the softmax, the expectation of what would be drawn.
    Models that go word by word hand that stream on unsplit, so that an example is soft at all words
    or at none.

    Sown to "objective", each [..., T], and 0 for a row that may attend to nothing:

        "log_probability"   of the key that was drawn; 0 where an example is soft
        "entropy"           of the softmax, in nats

    Attributes:
        soft_probability: in [0, 1].

    Raises:
        UserError: the coin is no probability, or something is drawn and nobody takes what is sown:
            no other objective teaches it where to look.

    Source: Xu et al. 2015, section 4.1, eq. 8 and 9; eq. 10 to 12 take what is sown.
    """

    soft_probability: Probability = 0.5

    def __call__(self, logits: jax.Array, mask: jax.Array | None, asked: AlignContext) -> jax.Array:
        """Return [..., T, S]."""
        if not 0 <= self.soft_probability <= 1:
            raise UserError(f"soft_probability must lie in [0, 1]; got {self.soft_probability}")
        key = self.make_rng("sample") if self.has_rng("sample") else None
        if key is not None and not self.is_mutable_collection("objective"):
            raise UserError(
                "the align Hard learns by the objective Reinforce alone: choose "
                "objective:reinforce, or the align straight-through"
            )
        weights, soft = hard(logits, mask, key), softmax(logits, mask)
        logs = log_softmax(logits, mask)
        drawn, entropy = (weights * logs).sum(-1), -(soft * logs).sum(-1)
        if self.has_rng("coin"):
            heads = uniform(self.make_rng("coin"), logits.shape[:1]) < self.soft_probability
            heads = heads.reshape(-1, *[1] * (logits.ndim - 1))
            weights = jnp.where(heads, soft, weights)
            drawn = jnp.where(heads[..., 0], 0, drawn)
        self.sow("objective", "log_probability", drawn)
        self.sow("objective", "entropy", entropy)
        return weights


class StraightThrough(Align):
    """`straight_through` as a part, which any objective trains; rows sum to 1.

    Attributes:
        temperature: above 0.
    """

    temperature: PositiveFloat = 1.0

    def __call__(self, logits: jax.Array, mask: jax.Array | None, asked: AlignContext) -> jax.Array:
        """Return [..., T, S]."""
        key = self.make_rng("sample") if self.has_rng("sample") else None
        return straight_through(logits, mask, key, self.temperature)
