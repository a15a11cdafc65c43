"""From a batch of sources to hypotheses: encode, start, search, as one compiled program."""

from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp

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
    """The model's hypotheses for each source, of at most `extra` symbols more than its memory.

    Compiled once a model, search, extra and shape of source.

    Args:
        model: the decoder.
        params: its parameters.
        source: int [B, S], ended by END, PAD after it, or floats [B, S, ...]; rows whose memory is
            all padding are filler.
        search: how to search.
        extra: how much longer than the places in memory a hypothesis may be.
    """

    def call(method: str, *args: Any, **named: Any) -> Any:
        return model.apply({"params": params}, *args, method=method, **named)

    def step(constants: Any, carry: Any, token: jax.Array) -> tuple[jax.Array, Any]:
        return call("step", constants, carry, token)

    memory, mask = call("encode", source, deterministic=True)
    length = mask.present.shape[-1] + extra
    symbols = mask.present.sum(-1)
    constants, carry = call("start", memory, mask, length=length)
    return search(
        step, constants, carry, length=length, limit=jnp.where(symbols > 0, symbols + extra, 0)
    )
