"""The objectives of Show, Attend and Tell: the doubly stochastic penalty, and REINFORCE.

Both need a model that computes word by word, whose attention sows arrays [B, T, ...].
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from attnjax.config.constraints import DropoutRate, NonNegativeFloat
from attnjax.data.special_tokens import PAD
from attnjax.errors import UserError
from attnjax.models.base import logits
from attnjax.nn.lift import sown
from attnjax.training.objectives.base import CrossEntropy, Key, Totals, features_of, streams


def coverage(weights: jax.Array, present: jax.Array) -> jax.Array:
    """Return each key's squared distance of total attention from 1: sum_i (1 - sum_t a[t, i])^2.

    The keys are patches of an image, none of them padding: a key of padding would add 1. Weights a
    [B, T, S] and booleans [B, T], False at padding, give [B].

    Source: Xu et al. 2015, eq. 14.
    """
    attended = jnp.where(present[..., None], weights, 0).sum(1)
    return ((1 - attended) ** 2).sum(-1)


def log_likelihood(hidden: jax.Array, table: jax.Array, target: jax.Array) -> jax.Array:
    """Return the log-probability in nats of each target [B, T], from all logits: [B]; no PAD."""
    logs = jax.nn.log_softmax(logits(hidden, table))
    gold = jnp.take_along_axis(logs, target[..., None], -1)[..., 0]
    return jnp.where(target != PAD, gold, 0).sum(-1)


@dataclass(frozen=True, kw_only=True)
class DoublyStochastic(CrossEntropy):
    """The cross entropy plus a penalty on patches that get too much or too little attention.

    The loss of a caption is its cross entropy plus `penalty` times its `coverage`. The metric
    "coverage" is the mean over captions. The penalty has no gradient through sampled weights.

    Raises:
        UserError: the model does not have exactly one attention that shows its weights.

    Source: Xu et al. 2015, eq. 14.
    """

    smoothing: DropoutRate = 0.0
    penalty: NonNegativeFloat = 1.0  # lambda

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        (hidden, table), seen = features_of(
            model, params, batch, streams(key), mutable=["attention"]
        )
        totals = self.totals(hidden, table, batch.target)
        loss, tokens = totals["loss"]
        present = batch.target != PAD
        shown = sown(seen, "attention", "weights")
        if len(shown) != 1:
            raise UserError(
                "DoublyStochastic needs a model with exactly one attention that shows its weights; "
                f"this {type(model).__name__} has {len(shown)}"
            )
        weights = shown[0].reshape(*present.shape, -1, shown[0].shape[-1]).mean(2)
        captions = present.any(-1).astype(loss.dtype)
        covered = (coverage(weights, present) * captions).sum()
        totals["coverage"] = covered, captions.sum()
        return totals | {"loss": (loss + self.penalty * covered, tokens)}


@dataclass(frozen=True, kw_only=True)
class Reinforce(CrossEntropy):
    """REINFORCE: a variational bound on log p(y), with samples s of an align such as `Hard`.

        sum over s of p(s) log p(y | s) <= log p(y)

    With one sample s for each caption, the bound's gradient is estimated by the gradient of

        log p(y | s) + reward (log p(y | s) - b) log p(s) + entropy H[s]

    The bracket has no gradient. The baseline b is a moving average of log p(y | s) from 0,
    b_k = 0.9 b_(k-1) + 0.1 log p(y | s_k). The value of "loss" leaves the middle term out, so that
    it is the value of the bound. The metrics "log_likelihood" of a caption and "entropy" of a word
    are in nats.

    Raises:
        UserError: no align of the model samples, or the model does not compute word by word.

    Source: Xu et al. 2015, eq. 10 to 12 and the rule after them; Williams 1992.
    """

    smoothing: DropoutRate = 0.0
    reward: NonNegativeFloat = 1.0  # lambda_r
    entropy: NonNegativeFloat = 0.01  # lambda_e

    def initial(self) -> jax.Array:
        return jnp.zeros((), jnp.float32)

    def __call__(self, model: Any, params: Any, state: Any, batch: Any, *, key: Key) -> Totals:
        keys = streams(key)
        if key is not None:
            keys["coin"] = jax.random.fold_in(key, 2)
        (hidden, table), seen = features_of(model, params, batch, keys, mutable=["objective"])
        totals = self.totals(hidden, table, batch.target)
        loss, tokens = totals["loss"]
        present = batch.target != PAD
        likelihood = jax.lax.stop_gradient(log_likelihood(hidden, table, batch.target))
        drawn = _over_words(seen, "log_probability", present)
        entropy = _over_words(seen, "entropy", present).sum()
        # the value is 0, the gradient is that of `drawn`
        moved = ((likelihood - state) * (drawn - jax.lax.stop_gradient(drawn))).sum()
        totals["log_likelihood"] = likelihood.sum(), present.any(-1).astype(loss.dtype).sum()
        totals["entropy"] = jax.lax.stop_gradient(entropy), tokens
        return totals | {"loss": (loss - self.reward * moved - self.entropy * entropy, tokens)}

    def update_state(self, state: jax.Array, totals: Totals) -> jax.Array:
        total, count = totals["log_likelihood"]
        return (0.9 * state + 0.1 * total / count).astype(state.dtype)


def _over_words(seen: Any, name: str, present: jax.Array) -> jax.Array:
    """Sum the values sown under a name over words and heads, [B]."""
    arrays = sown(seen, "objective", name)
    # a model that computes word by word sows [B, T, ..., 1]; one that computes all words at once
    # sows [B, H, T], which must not be taken for it if H equals T
    by_word = [
        values.shape[:2] == present.shape and (values.ndim == 2 or values.shape[-1] == 1)
        for values in arrays
    ]
    if not arrays or not all(by_word):
        shapes = ", ".join(str(list(values.shape)) for values in arrays) or "nothing"
        raise UserError(
            "Reinforce needs a model that samples its attention word by word (a recurrent one with "
            f"the align Hard): {name} of shape {[*present.shape, '...', 1]}; got {shapes}"
        )
    words = sum(values.reshape(*present.shape, -1).sum(-1) for values in arrays)
    return jnp.where(present, words, 0).sum(-1)
