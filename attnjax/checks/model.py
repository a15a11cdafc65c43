"""The properties of a model of sequences, tried on examples of its own data."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.checks.finding import Finding, not_equal, not_finite, raised, tried
from attnjax.data.special_tokens import START
from attnjax.models.sequence_model import SequenceModel


def check_model(model: SequenceModel, source: jax.Array, target: jax.Array) -> list[Finding]:
    """Try on a model what every model of attnjax has.

    - Word by word (`encode`, `start`, `step`) it gives the logits of the parallel call.
    - No logits change with a later word.
    - In bfloat16 the logits are finite.

    The model has its vocabularies filled in; the target are words [B, T].
    """
    decoder_input = jnp.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=START)
    call: Any = jax.jit(partial(model.apply, deterministic=True))
    try:
        init = jax.jit(partial(model.init, deterministic=True))
        variables = {"params": init(jax.random.key(0), source, decoder_input)["params"]}
        parallel = call(variables, source, decoder_input)
    except Exception as error:  # a part is a user's: whatever it raises is what is found
        return [raised("can be called", error)]
    properties: dict[str, Callable[[], str | None]] = {
        "step by step equals parallel": partial(
            _steps, model, variables, source, decoder_input, parallel
        ),
        "causal": partial(_causal, call, variables, source, decoder_input, parallel),
        "finite in half precision": partial(
            _half_precision, call, variables, source, decoder_input
        ),
    }
    return [tried(name, problem) for name, problem in properties.items()]


def _steps(
    model: SequenceModel, variables: Any, source: Any, decoder_input: Any, parallel: Any
) -> str | None:
    length = decoder_input.shape[1]

    @jax.jit
    def begin(variables: Any, source: Any) -> Any:
        call: Any = partial(model.apply, variables)
        memory, mask = call(source, deterministic=True, method="encode")
        return call(memory, mask, length=length, beams=1, method="start")

    step: Any = jax.jit(partial(model.apply, method="step"))
    constants, cache, state = begin(variables, source)
    stepped = []
    for place in range(length):
        word = decoder_input[:, place : place + 1]
        logits, cache, state = step(variables, constants, cache, state, word, jnp.int32(place))
        stepped.append(logits)
    return not_equal("a logit", jnp.concatenate(stepped, axis=1), parallel)


def _causal(
    call: Any, variables: Any, source: Any, decoder_input: Any, parallel: jax.Array
) -> str | None:
    last = decoder_input.shape[1] - 1
    # another word, neither padding nor the one that is there
    other = decoder_input.at[:, last].set(jnp.where(decoder_input[:, last] == START, 4, START))
    changed = call(variables, source, other)
    return not_equal("a logit before the changed word", changed[:, :last], parallel[:, :last])


def _half_precision(call: Any, variables: Any, source: Any, decoder_input: Any) -> str | None:
    narrow = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), variables)
    if jnp.issubdtype(source.dtype, jnp.floating):
        source = source.astype(jnp.bfloat16)
    return not_finite("a logit", call(narrow, source, decoder_input))
