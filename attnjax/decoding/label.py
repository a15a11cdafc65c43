"""The search of a classifier: one step, and the most probable label."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from attnjax.data.special_tokens import END, PAD, START, UNKNOWN
from attnjax.decoding.search import Hypotheses, Search
from attnjax.errors import UserError
from attnjax.models.sequence_model import SequenceModel


class _LabelState(NamedTuple):
    """The label of each text, once it is found."""

    last: jax.Array
    active: jax.Array
    found: Hypotheses


@dataclass(frozen=True, kw_only=True)
class Label(Search):
    """The most probable symbol except PAD, START, END and UNKNOWN, and nothing after it.

    The probabilities of the labels are not renormalized for these four. The score is the label's
    log-probability.
    """

    def check(self, model: SequenceModel) -> None:
        if not model.predicts_label:
            raise UserError(
                f"a {type(model).__name__} writes sentences, and search:label finds one label: "
                "choose another, such as search:greedy"
            )

    def init(self, limit: jax.Array, length: int, number: jax.Array) -> _LabelState:
        del number
        batch = limit.shape[0]
        return _LabelState(
            last=jnp.full((batch, 1), START, jnp.int32),
            active=limit > 0,
            found=Hypotheses(
                jnp.full((batch, 1, length), PAD, jnp.int32),
                jnp.full((batch, 1), -jnp.inf, jnp.float32),
            ),
        )

    def advance(
        self, state: _LabelState, logits: jax.Array, step: jax.Array
    ) -> tuple[_LabelState, jax.Array]:
        symbol = jax.lax.broadcasted_iota(jnp.int32, logits.shape, logits.ndim - 1)
        special = jnp.isin(symbol, jnp.asarray([PAD, START, END, UNKNOWN]))
        log_probability = jax.nn.log_softmax(logits.astype(jnp.float32))
        log_probability = jnp.where(special, -jnp.inf, log_probability)
        active = state.active[:, None]
        label = jnp.where(active, log_probability.argmax(-1).astype(jnp.int32), PAD)
        found = Hypotheses(
            jnp.asarray(state.found.tokens).at[:, :, step].set(label),
            jnp.where(active, log_probability.max(-1), state.found.scores),
        )
        after = _LabelState(last=label, active=jnp.zeros_like(state.active), found=found)
        return after, jnp.zeros_like(label)

    def finalize(self, state: _LabelState) -> Hypotheses:
        return state.found
