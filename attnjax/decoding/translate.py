"""From a batch of sources to hypotheses: encode, start, search, as one compiled program."""

from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from attnjax.data.symbols import PAD
from attnjax.decoding.search import Hypotheses, Search

EXTRA = 50
"""A hypothesis may be so much longer than its source. Vaswani et al. 2017, section 6.1."""


class Decoder(Protocol):
    """A model with `encode`, `start` and `step`; hashable, as unbound Linen modules are."""

    def apply(self, variables: Any, /, *args: Any, **named: Any) -> Any:
        """Call the method named by `method`."""
        ...


@partial(jax.jit, static_argnames=("model", "search", "extra"))
def translate(
    model: Decoder, params: Any, source: jax.Array, search: Search, *, extra: int = EXTRA
) -> Hypotheses:
    """The model's hypotheses for each source, of at most `extra` symbols more than the source.

    Compiled once a model, search, extra and shape of source.

    Args:
        model: the decoder.
        params: its parameters.
        source: int [B, S], ended by END, PAD after it; rows of PAD alone are filler.
        search: how to search.
        extra: how much longer than its source a hypothesis may be.
    """

    def call(method: str, *args: Any, **named: Any) -> Any:
        return model.apply({"params": params}, *args, method=method, **named)

    def step(constants: Any, carry: Any, token: jax.Array) -> tuple[jax.Array, Any]:
        return call("step", constants, carry, token)

    length = source.shape[1] + extra
    symbols = (source != PAD).sum(-1)
    memory, mask = call("encode", source, deterministic=True)
    constants, carry = call("start", memory, mask, length=length)
    return search(
        step, constants, carry, length=length, limit=jnp.where(symbols > 0, symbols + extra, 0)
    )
