"""A score whose logits are bounded."""

from dataclasses import field

import jax.numpy as jnp
from jaxtyping import Array, Float

from attnjax.attention.kernel_score import Kernel
from attnjax.attention.position import Positions
from attnjax.attention.score import ScaledDot, Score
from attnjax.attention.shapes import Keys, Logits, Queries
from attnjax.config.constraints import PositiveFloat
from attnjax.errors import UserError


def soft_cap(logits: Logits, cap: float) -> Logits:
    """Bound logits smoothly: cap tanh(logits / cap), which is the identity near 0.

    Source: Gemma Team 2024 (Gemma 2), section 2; there the cap of attention's logits is 50.
    """
    return cap * jnp.tanh(logits / cap)


class SoftCap(Score):
    """`soft_cap` of the logits of the score within, before the mask; no parameters."""

    score: Score = field(default_factory=ScaledDot)
    cap: PositiveFloat = 50.0

    def setup(self) -> None:
        if isinstance(self.score, Kernel):
            raise UserError(
                "SoftCap bounds logits, and a kernel is none: it wants a score such as ScaledDot; "
                f"got {self.score.in_words()}"
            )

    def prepare(self, key: Keys) -> Float[Array, "*#B S _"]:
        return self.score.prepare(key)

    def __call__(self, query: Queries, key: Keys, positions: Positions) -> Logits:
        return soft_cap(self.score(query, key, positions), self.cap)

    def in_words(self) -> str:
        return f"SoftCap around {self.score.in_words()}"
