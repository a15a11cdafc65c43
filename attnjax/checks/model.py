"""The properties of a model of sequences, tried on examples of its own data."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.checks.finding import Finding, Problems, cast, findings, not_equal, not_finite
from attnjax.data.special_tokens import START
from attnjax.models.sequence_model import SequenceModel


def check_model(model: SequenceModel, source: jax.Array, target: jax.Array) -> list[Finding]:
    """Check the properties that every model of attnjax has.

    - Word by word (`encode`, `start`, `step`) it gives the logits of the parallel call.
    - No logits change with a later word.
    - In bfloat16 the logits are finite.

    The model has its vocabularies filled in; `target` holds words [B, T].
    """
    return findings(
        partial(_Called, model, source, target),
        {
            "step by step equals parallel": _steps,
            "causal": _causal,
            "finite in half precision": _half_precision,
        },
    )


class _Called:
    """A model that was called with all words at once."""

    def __init__(self, model: SequenceModel, source: jax.Array, target: jax.Array) -> None:
        self.model, self.source = model, source
        self.words = np.pad(np.asarray(target)[:, :-1], ((0, 0), (1, 0)), constant_values=START)
        init: Any = jax.jit(partial(model.init, deterministic=True))
        variables = jax.device_get(init(jax.random.key(0), source, self.words))
        self.variables = {"params": variables["params"]}
        self.call: Any = jax.jit(partial(model.apply, deterministic=True))
        self.logits = np.asarray(self.call(self.variables, source, self.words))


def _steps(called: _Called) -> Problems:
    """Compare the logits of one step at a time with those of the parallel call."""
    length = called.words.shape[1]

    @jax.jit
    def begin(variables: Any, source: Any) -> Any:
        call: Any = partial(called.model.apply, variables)
        memory, mask = call(source, deterministic=True, method="encode")
        return call(memory, mask, length=length, beams=1, method="start")

    step: Any = jax.jit(partial(called.model.apply, method="step"))
    constants, cache, state = begin(called.variables, called.source)
    stepped = []
    for position in range(length):
        given = called.words[:, position : position + 1], np.int32(position)
        logits, cache, state = step(called.variables, constants, cache, state, *given)
        stepped.append(logits)
    yield not_equal("a logit", np.concatenate(stepped, axis=1), called.logits)


def _causal(called: _Called) -> Problems:
    """Compare the logits before the last word with those for another last word."""
    words, last = called.words, called.words.shape[1] - 1
    # another word, neither padding nor the one that is there
    other = words.copy()
    other[:, last] = np.where(words[:, last] == START, 4, START)
    changed = np.asarray(called.call(called.variables, called.source, other))
    yield not_equal("a logit before the changed word", changed[:, :last], called.logits[:, :last])


def _half_precision(called: _Called) -> Problems:
    """Look for logits in bfloat16 that are not finite."""
    narrow, source = cast((called.variables, called.source), jnp.bfloat16)
    yield not_finite("a logit", called.call(narrow, source, called.words))
