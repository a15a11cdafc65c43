"""Teacher forcing in some of the examples; the others are fed the model's own predictions."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.config.constraints import DropoutRate, Probability
from attnjax.data.special_tokens import PAD, START
from attnjax.nn.counter_hash import uniform
from attnjax.training.objectives.base import CrossEntropy, Key, Totals, features, shifted, streams


def predicted_inputs(model: Any, params: Any, source: jax.Array, length: int) -> jax.Array:
    """Return the inputs of a decoder fed its own predictions: START, y_1, ..., y_(length - 1).

    y_t is the most probable word after START, y_1, ..., y_(t - 1), without dropout. It is never PAD
    or START. END does not stop the prediction: the number of words is that of the target. The
    inputs are int32 [B, T], T = `length`.
    """

    def call(method: str, *arguments: Any, **options: Any) -> Any:
        return model.apply({"params": params}, *arguments, method=method, **options)

    memory, mask = call("encode", source, deterministic=True)
    constants, cache, state = call("start", memory, mask, length=length, beams=1)
    first = jnp.full((source.shape[0], 1), START, jnp.int32)

    def step(carry: Any, number: jax.Array) -> tuple[Any, jax.Array]:
        cache, state, word = carry
        logits, cache, state = call("step", constants, cache, state, word, number)
        never = jnp.zeros(logits.shape[-1], bool).at[jnp.array((PAD, START))].set(True)
        word = jnp.where(never, -jnp.inf, logits).argmax(-1).astype(jnp.int32)
        return (cache, state, word), word[:, 0]

    _, words = jax.lax.scan(step, (cache, state, first), jnp.arange(length - 1))
    return jnp.concatenate([first, words.T], axis=1)


@dataclass(frozen=True, kw_only=True)
class TeacherForcing(CrossEntropy):
    """The cross entropy with teacher forcing in some of the examples.

    With probability `probability`, drawn for each example at every update, the decoder is fed the
    words of the target, and otherwise its own predictions, see `predicted_inputs`. In both cases it
    must predict the target. Validation uses teacher forcing. With probability 1 the objective
    equals `CrossEntropy`.

    Source: Williams and Zipser 1989 name teacher forcing; Lake and Baroni 2018, section 3, use it
    in half of the trials.
    """

    smoothing: DropoutRate = 0.0
    probability: Probability = 0.5

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        decoder_input = shifted(batch.target)
        if key is not None:
            own = predicted_inputs(
                model, jax.lax.stop_gradient(params), batch.source, batch.target.shape[1]
            )
            drawn = uniform(jax.random.fold_in(key, 3), (len(own), 1))
            decoder_input = jnp.where(drawn < self.probability, decoder_input, own)
        hidden, table = features(model, params, batch.source, decoder_input, streams(key))
        return self.totals(hidden, table, batch.target)
