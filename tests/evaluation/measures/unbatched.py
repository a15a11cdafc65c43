"""The attention of one sentence without a batch, and so without padding."""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.data.special_tokens import START
from attnjax.evaluation.measures.base import EvalInputs


@cache
def sowing(model: Any) -> Any:
    return jax.jit(partial(model.apply, deterministic=True, mutable=["attention"]))


def alone(inputs: EvalInputs, index: int) -> Any:
    """What the attentions of a test sentence sow while the decoder is given its reference."""
    example = inputs.corpus.splits["test"][index]
    _, seen = sowing(inputs.model)(
        {"params": inputs.params},
        jnp.asarray([example.source]),
        jnp.asarray([[START, *example.target[:-1]]]),
    )
    return seen["attention"]
