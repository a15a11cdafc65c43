"""The attention of one sentence without a batch, and so without padding."""

from typing import Any

import jax.numpy as jnp

from attnjax.data.special_tokens import START
from attnjax.evaluation.measures.base import EvalInputs


def alone(inputs: EvalInputs, index: int) -> Any:
    """What the attentions of a test sentence sow while the decoder is given its reference."""
    example = inputs.corpus.splits["test"][index]
    _, seen = inputs.model.apply(
        {"params": inputs.params},
        jnp.asarray([example.source]),
        jnp.asarray([[START, *example.target[:-1]]]),
        deterministic=True,
        mutable=["attention"],
    )
    return seen["attention"]
