"""Differential attention: the difference of two softmaxes, which cancels what both attend to."""

from collections.abc import Callable
from dataclasses import field
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen as nn

from attnjax.attention.attention import Attention
from attnjax.attention.heads.carried import Carried
from attnjax.attention.heads.multihead import MultiHead, head_width
from attnjax.attention.mask import Mask
from attnjax.attention.position import Positions
from attnjax.attention.shapes import Keys, Values
from attnjax.config.constraints import DropoutRate
from attnjax.errors import UserError
from attnjax.nn.dtypes import widen
from attnjax.nn.norm import RMSNorm, VectorNorm


class DifferentialHeads(MultiHead):
    """H heads in pairs, which share values: context_1 - lambda context_2 of each pair.

        context = (softmax(q_1 K_1 / sqrt(K)) - lambda softmax(q_2 K_2 / sqrt(K))) V
        lambda  = exp(a . b) - exp(c . d) + lambda_0
        out     = [(1 - lambda_0) norm(context_i)]_i W

    a, b, c and d are learned vectors [K] of the whole layer. The values of a pair are twice as wide
    as those of `MultiHead`, so that parameters and products are as many. Sown weights are those of
    the H single softmaxes; the weights of a pair, their difference, may be negative.

    Attributes:
        initial_lambda: lambda_0. The paper's grows with the number l of the layer from 0, as
            0.8 - 0.6 exp(-0.3 l), and is found to matter little.
        context_norm: of each pair's difference; all pairs share its gains.
        heads_out: the numbers, from 0, of pairs that are taken out.

    Raises:
        UserError: H is odd; heads share keys; a pair that is taken out does not exist.

    Source: Ye et al. 2025, section 2.1 and eq. 1 to 3.
    """

    initial_lambda: DropoutRate = 0.8
    context_norm: VectorNorm | None = field(default_factory=lambda: RMSNorm(epsilon=1e-5))

    def setup(self) -> None:
        super().setup()
        if self.heads % 2 or self.key_heads is not None:
            raise UserError(
                "DifferentialHeads wants an even number of heads, in pairs, and no key_heads; got "
                f"{self.heads} heads, key_heads {self.key_heads}"
            )
        if max(self.heads_out, default=0) >= self.heads // 2:
            raise UserError(f"heads_out {self.heads_out}: the pairs are 0 to {self.heads // 2 - 1}")

    def _values(self, value: Values, heads: int) -> jax.Array:
        width = self.value_width or 2 * head_width(value.shape[-1], heads)
        return jnp.repeat(self._project(value, heads // 2, width, "value"), 2, axis=-2)

    def prepare(self, key: Keys, value: Values, carried: Carried = Carried()) -> Any:
        """Return the memory of H heads; the values of a pair, [..., H / 2, S, V], are kept once."""
        memory = super().prepare(key, value, carried)
        if not self._keeps_values():
            return memory
        return memory._replace(value=memory.value[..., ::2, :, :])

    def _keeps_values(self) -> bool:
        """Return whether the memory of a head has the values as they are projected."""
        return type(self.head).prepare is Attention.prepare

    def _copy_groups(self, memory: Any) -> Any:
        """Copy the values of each pair for both of its heads."""
        if not self._keeps_values():
            return memory
        return memory._replace(value=jnp.repeat(memory.value, 2, axis=-3))

    def _at_once(
        self, attend: Callable, query: jax.Array, memory: Any, mask: Mask, positions: Positions
    ) -> jax.Array:
        return super()._at_once(attend, query, self._copy_groups(memory), mask, positions)

    @nn.compact
    def _combined(self, contexts: jax.Array, inputs: jax.Array) -> jax.Array:
        width = self.key_width or head_width(inputs.shape[-1], self.heads)
        normal = nn.initializers.normal(0.1)
        a, b = self.param("lambda_a", normal, (width,)), self.param("lambda_b", normal, (width,))
        c, d = self.param("lambda_c", normal, (width,)), self.param("lambda_d", normal, (width,))
        first, second = (jnp.exp((widen(x) * widen(y)).sum()) for x, y in ((a, b), (c, d)))
        amount = first - second + self.initial_lambda  # exp(12) is beyond float16
        difference = widen(contexts[..., 0::2, :]) - amount * widen(contexts[..., 1::2, :])
        difference = difference.astype(contexts.dtype)
        return (1 - self.initial_lambda) * super()._combined(difference, inputs)
