"""The search of a classifier: one step, and the most probable label."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array

from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.decoding.independent import Independent, IndependentSearch
from attnjax.errors import UserError
from attnjax.models.sequence_model import SequenceModel


@dataclass(frozen=True, kw_only=True)
class Label(IndependentSearch):
    """The most probable symbol except PAD, START, END and UNKNOWN, and nothing after it.

    The score is the label's log-probability, not renormalized for these four.
    """

    def check(self, model: SequenceModel) -> None:
        if not model.predicts_label:
            raise UserError(
                f"a {type(model).__name__} writes sentences, and search:label finds one label: "
                "choose another, such as search:greedy"
            )

    def init(self, limit: Array, length: int, number: Array) -> Independent:
        state = super().init(limit, length, number)
        return state._replace(limit=jnp.minimum(state.limit, 1))

    def choose(self, state: Independent, logits: Array, step: Array) -> tuple[Array, Array]:
        special = jnp.array([PAD, START, END, UNKNOWN])
        log_probability = jax.nn.log_softmax(logits.astype(jnp.float32))
        log_probability = log_probability.at[..., special].set(-jnp.inf)
        return log_probability.argmax(-1).astype(jnp.int32), log_probability.max(-1)
