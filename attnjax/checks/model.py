"""The properties of a model of sequences, tried on examples of its own data."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.checks.finding import Finding, not_equal, not_finite, raised, tried
from attnjax.data.special_tokens import START
from attnjax.models.base import SequenceModel


def check_model(model: SequenceModel, source: jax.Array, target: jax.Array) -> list[Finding]:
    """Try on a model what every model of attnjax has.

    - Word by word (`encode`, `start`, `step`) it gives the logits of the parallel call.
    - No logits change with a later word.
    - In bfloat16 the logits are finite.

    Args:
        model: with its vocabularies filled in.
        source: [B, S] or [B, S, ...].
        target: words [B, T].
    """
    decoder_input = jnp.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=START)
    try:
        variables = model.init(jax.random.key(0), source, decoder_input, deterministic=True)
        variables = {"params": variables["params"]}
        parallel: Any = model.apply(variables, source, decoder_input, deterministic=True)
    except Exception as error:  # a part is a user's: whatever it raises is what is found
        return [raised("can be called", error)]
    properties: dict[str, Callable[[], str | None]] = {
        "step by step equals parallel": partial(
            _steps, model, variables, source, decoder_input, parallel
        ),
        "causal": partial(_causal, model, variables, source, decoder_input, parallel),
        "finite in half precision": partial(
            _half_precision, model, variables, source, decoder_input
        ),
    }
    return [tried(name, problem) for name, problem in properties.items()]


def _steps(
    model: SequenceModel, variables: Any, source: Any, decoder_input: Any, parallel: Any
) -> str | None:
    call: Any = partial(model.apply, variables)
    length = decoder_input.shape[1]
    memory, mask = call(source, deterministic=True, method="encode")
    constants, cache, state = call(memory, mask, length=length, beams=1, method="start")
    found = []
    for place in range(length):
        word = decoder_input[:, place : place + 1]
        step = jnp.int32(place)
        logits, cache, state = call(constants, cache, state, word, step, method="step")
        found.append(logits)
    return not_equal("a logit", jnp.concatenate(found, axis=1), parallel)


def _causal(
    model: SequenceModel, variables: Any, source: Any, decoder_input: Any, parallel: Any
) -> str | None:
    last = decoder_input.shape[1] - 1
    # another word, neither padding nor the one that is there
    other = decoder_input.at[:, last].set(jnp.where(decoder_input[:, last] == START, 4, START))
    changed: Any = model.apply(variables, source, other, deterministic=True)
    return not_equal("a logit before the changed word", changed[:, :last], parallel[:, :last])


def _half_precision(
    model: SequenceModel, variables: Any, source: Any, decoder_input: Any
) -> str | None:
    narrow = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), variables)
    if jnp.issubdtype(source.dtype, jnp.floating):
        source = source.astype(jnp.bfloat16)
    logits = model.apply(narrow, source, decoder_input, deterministic=True)
    return not_finite("a logit", logits)
