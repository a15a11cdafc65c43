"""A score whose logits are bounded."""

from dataclasses import field

from flax import linen as nn
from jaxtyping import Array, Float

from attnjax.attention.position import Positions
from attnjax.attention.score.base import DotProduct, ScaledDot, Score, soft_cap
from attnjax.attention.score.kernel import Kernel
from attnjax.attention.shapes import Keys, Logits, Queries
from attnjax.config.constraints import PositiveFloat
from attnjax.errors import UserError


class SoftCap(Score):
    """`soft_cap` of the logits of the score within, before the mask; no parameters.

    Raises:
        UserError: the score is a kernel.

    Source: Gemma Team 2024 (Gemma 2), section 2.
    """

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

    def is_fusible(self) -> bool:
        return self.score.is_fusible() and not self.score.is_capped()

    def same_in_every_head(self) -> bool:
        return self.score.same_in_every_head()

    @nn.nowrap
    def is_capped(self) -> bool:
        return True

    def as_dot_product(self, query: Queries, key: Keys, positions: Positions) -> DotProduct:
        return self.score.as_dot_product(query, key, positions)._replace(cap=self.cap)

    def in_words(self) -> str:
        return f"SoftCap around {self.score.in_words()}"
