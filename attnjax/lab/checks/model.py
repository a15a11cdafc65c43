"""The properties of a model of sequences, tried on examples of its own data."""

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from attnjax.data.special_tokens import START
from attnjax.lab.checks.finding import Finding, Problems, cast, findings, not_equal, not_finite
from attnjax.lab.checks.noise import NOISE, noisy, said_of_moved
from attnjax.models.sequence_model import SequenceModel


def check_model(model: SequenceModel, source: jax.Array, target: jax.Array) -> list[Finding]:
    """Check the properties that every model of attnjax has.

    - Word by word (`encode`, `start`, `step`) it gives the logits of the parallel call.
    - No logits change with a later word.
    - In bfloat16 the logits are finite.

    Each is tried with the parameters that are drawn, and with noise on them.

    The model has its vocabularies filled in; `target` holds words [B, T].
    """
    return findings(
        partial(_Called, model, source, target),
        {
            "step by step equals parallel": _at_both(_steps),
            "causal": _at_both(_causal),
            "finite in half precision": _at_both(_half_precision),
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
        self.begin: Any = jax.jit(self._begin)
        self.step: Any = jax.jit(partial(model.apply, method="step"))

    @cached_property
    def logits(self) -> np.ndarray:
        """The logits of all words at once."""
        return np.asarray(self.call(self.variables, self.source, self.words))

    def moved(self) -> "_Called":
        """Return the same model, in the same programs, with noise on its parameters."""
        moved = copy(self)
        moved.__dict__.pop("logits", None)
        moved.variables = noisy(self.variables, NOISE)
        return moved

    def _begin(self, variables: Any, source: Any) -> Any:
        call: Any = partial(self.model.apply, variables)
        memory, mask = call(source, deterministic=True, method="encode")
        return call(memory, mask, length=self.words.shape[1], beams=1, method="start")


def _at_both(problems: Callable[[_Called], Problems]) -> Callable[[_Called], Problems]:
    """Look at a model as it is drawn, and then with noise on its parameters."""

    def of_both(called: _Called) -> Problems:
        yield from problems(called)
        yield from said_of_moved(problems(called.moved()))

    return of_both


def _steps(called: _Called) -> Problems:
    """Compare the logits of one step at a time with those of the parallel call."""
    constants, cache, state = called.begin(called.variables, called.source)
    stepped = []
    for position in range(called.words.shape[1]):
        given = called.words[:, position : position + 1], np.int32(position)
        logits, cache, state = called.step(called.variables, constants, cache, state, *given)
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
