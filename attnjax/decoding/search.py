"""Greedy and beam search over any decoder that has `start` and `step`.

A search is called with the decoder's step, what `start` gave, and a limit a sentence; it is pure
and can be traced, so the caller compiles it together with the model (`translate.py`).

PAD and START are never chosen; the probabilities of the rest are not renormalised for it. A
sentence's hypotheses have at most `limit` symbols, END counted: the symbol at the limit is END.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from attnjax.data.symbols import END, PAD, START
from attnjax.decoding.normalisation import Normalisation, Power
from attnjax.errors import UserError

type Step = Callable[[Any, Any, jax.Array], tuple[jax.Array, Any]]


class Hypotheses(NamedTuple):
    """K hypotheses a sentence, best first; L is the length searched for.

    Attributes:
        tokens: int32 [B, K, L], ended by END, PAD after it; all PAD where there is no hypothesis
            (a sentence of limit 0, or fewer possible hypotheses than K).
        scores: float32 [B, K], normalised log-probabilities; -inf where there is no hypothesis.
    """

    tokens: jax.Array
    scores: jax.Array


@dataclass(frozen=True, kw_only=True)
class Search:
    """How hypotheses are found. A part: subclasses are chosen on the command line."""

    def __call__(
        self, step: Step, constants: Any, carry: Any, *, length: int, limit: jax.Array
    ) -> Hypotheses:
        """Search until every sentence is finished.

        Args:
            step: (constants, carry, token [B]) -> logits [B, V], carry.
            constants: what the decoder holds once a sentence; batch axis first.
            carry: what a hypothesis carries; every leaf has the batch axis first.
            length: L, the widest hypothesis; limits beyond it are cut to it.
            limit: the most symbols a sentence's hypotheses may have, END counted, int [B]. A row
                of limit 0 (filler) is finished before the first step.
        """
        raise NotImplementedError


class _Path(NamedTuple):
    """What greedy search carries."""

    place: jax.Array
    carry: Any
    last: jax.Array
    tokens: jax.Array
    score: jax.Array
    going: jax.Array


@dataclass(frozen=True, kw_only=True)
class Greedy(Search):
    """The most probable symbol at every place: one hypothesis, its score not normalised."""

    def __call__(
        self, step: Step, constants: Any, carry: Any, *, length: int, limit: jax.Array
    ) -> Hypotheses:
        batch = limit.shape[0]
        limit = jnp.minimum(limit, length)

        def onwards(path: _Path) -> _Path:
            logits, carry = step(constants, path.carry, path.last)
            log_probability = _log_probability(logits, path.place + 1 >= limit)
            token = jnp.where(path.going, log_probability.argmax(-1).astype(jnp.int32), PAD)
            return _Path(
                place=path.place + 1,
                carry=carry,
                last=token,
                tokens=path.tokens.at[:, path.place].set(token),
                score=path.score + jnp.where(path.going, log_probability.max(-1), 0.0),
                going=path.going & (token != END),
            )

        path = jax.lax.while_loop(
            lambda path: path.going.any(),
            onwards,
            _Path(
                place=jnp.zeros((), jnp.int32),
                carry=carry,
                last=jnp.full(batch, START, jnp.int32),
                tokens=jnp.full((batch, length), PAD, jnp.int32),
                score=jnp.where(limit > 0, 0.0, -jnp.inf).astype(jnp.float32),
                going=limit > 0,
            ),
        )
        return Hypotheses(path.tokens[:, None], path.score[:, None])


class _Beams(NamedTuple):
    """What beam search carries: the live hypotheses, and the finished ones beside them."""

    place: jax.Array
    carry: Any
    last: jax.Array
    tokens: jax.Array
    score: jax.Array
    finished: Hypotheses


@dataclass(frozen=True, kw_only=True)
class Beam(Search):
    """The `size` best live hypotheses go on together; finished ones wait in a pool of their own.

    The rules are those of fairseq's ``SequenceGenerator``, which published figures were made with:

    - Every step ranks all continuations of a sentence's live hypotheses by log-probability and
      looks at the 2 * size best.
    - One that ends is finished if it is among the first `size` of them, and forgotten otherwise.
      Finished ones are kept in the order in which they came, with their normalised score; a full
      pool takes no more.
    - The `size` best that do not end live on: a finished hypothesis never takes a live one's place.
    - A sentence stops when `size` hypotheses are finished, or at its limit, where every live one
      is made to end. (So a live hypothesis that would come to beat the finished ones is lost:
      the search is not exact, and a larger beam searches longer.)

    Not taken over: fairseq never returns an empty translation (its ``--min-len 1``), here END may
    come first.

    Attributes:
        size: K, both of the live hypotheses and of the finished.
        normalisation: what log-probabilities of finished hypotheses are divided by.

    Raises:
        UserError: when size is below 1.
    """

    size: int = 5
    normalisation: Normalisation = field(default_factory=Power)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise UserError(f"a beam holds at least 1 hypothesis; got size {self.size}")

    def __call__(
        self, step: Step, constants: Any, carry: Any, *, length: int, limit: jax.Array
    ) -> Hypotheses:
        batch, size = limit.shape[0], self.size
        limit = jnp.minimum(limit, length)
        # mapped, not repeated: what is held once a sentence stays once a sentence
        step = jax.vmap(step, in_axes=(None, 1, 1), out_axes=1)

        def going(beams: _Beams) -> jax.Array:
            full = jnp.isfinite(beams.finished.scores).all(-1)
            return (beams.place < limit) & ~full

        def onwards(beams: _Beams) -> _Beams:
            logits, carry = step(constants, beams.carry, beams.last)
            must_end = (beams.place + 1 >= limit)[:, None]
            score = beams.score[..., None] + _log_probability(logits, must_end)
            # at most `size` candidates end, one a live hypothesis: `size` are left to live on
            score, index = jax.lax.top_k(score.reshape(batch, -1), 2 * size)
            parent, token = jnp.divmod(index.astype(jnp.int32), logits.shape[-1])
            tokens = _pick(beams.tokens, parent).at[:, :, beams.place].set(token)
            ends = token == END

            leading = Hypotheses(
                tokens[:, :size],
                score[:, :size] / self.normalisation.divisor(beams.place + 1),
            )
            finished = _add(
                beams.finished,
                leading,
                ends[:, :size] & jnp.isfinite(leading.scores) & going(beams)[:, None],
            )
            # the candidates are sorted and top_k keeps the order of equals
            score, lives = jax.lax.top_k(jnp.where(ends, -jnp.inf, score), size)
            parent = _pick(parent, lives)
            return _Beams(
                place=beams.place + 1,
                carry=jax.tree.map(lambda leaf: _pick(leaf, parent), carry),
                last=_pick(token, lives),
                tokens=_pick(tokens, lives),
                score=score,
                finished=finished,
            )

        nothing = jnp.full((batch, size, length), PAD, jnp.int32)
        worst = jnp.full((batch, size), -jnp.inf, jnp.float32)
        beams = jax.lax.while_loop(
            lambda beams: going(beams).any(),
            onwards,
            _Beams(
                place=jnp.zeros((), jnp.int32),
                carry=jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], size, axis=1), carry),
                last=jnp.full((batch, size), START, jnp.int32),
                tokens=nothing,
                # all start alike: only the first counts, or its continuations would come K times
                score=worst.at[:, 0].set(0.0),
                finished=Hypotheses(nothing, worst),
            ),
        )
        scores, order = jax.lax.top_k(beams.finished.scores, size)
        return Hypotheses(_pick(beams.finished.tokens, order), scores)


def _log_probability(logits: jax.Array, must_end: jax.Array) -> jax.Array:
    """Logits [..., V] -> float32 log-probabilities; -inf for what may not be chosen.

    Args:
        logits: [..., V].
        must_end: where END is the only choice; broadcasts to [...].
    """
    word = jax.lax.broadcasted_iota(jnp.int32, logits.shape, logits.ndim - 1)
    # a decoder gives PAD and START a little probability, and neither is a word of a sentence
    allowed = (word == END) | ((word != PAD) & (word != START) & ~must_end[..., None])
    return jnp.where(allowed, jax.nn.log_softmax(logits.astype(jnp.float32)), -jnp.inf)


def _pick(leaf: jax.Array, index: jax.Array) -> jax.Array:
    """From a leaf [B, K, ...] the places of index [B, J] -> [B, J, ...]."""
    return jnp.take_along_axis(leaf, index.reshape(index.shape + (1,) * (leaf.ndim - 2)), axis=1)


def _add(pool: Hypotheses, new: Hypotheses, accepted: jax.Array) -> Hypotheses:
    """Put the accepted [B, K] of the new ones in the free places of the pool, while there are."""
    taken = jnp.isfinite(pool.scores).sum(-1, keepdims=True)
    place = jnp.where(accepted, taken + accepted.cumsum(-1) - 1, pool.scores.shape[1])

    def put(old: jax.Array, place: jax.Array, value: jax.Array) -> jax.Array:
        return old.at[place].set(value, mode="drop")

    return jax.tree.map(lambda old, value: jax.vmap(put)(old, place, value), pool, new)
